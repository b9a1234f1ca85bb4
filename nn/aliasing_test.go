package nn_test

import (
	"bytes"
	"context"
	"fmt"
	"testing"
	"unsafe"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/initial"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/std"
	"github.com/graft-ml/graft/onnxio"
	"gorgonia.org/tensor"
)

// memoryOf lists the memory that a value consists of, by name.
func memoryOf(name string, v dtype.Value, put func(name string, b []byte)) {
	switch v := v.(type) {
	case *tensor.Dense:
		put(name, dtype.Bytes(v))
	case *dtype.Strings:
		if n := len(v.Elems); n > 0 {
			put(name, unsafe.Slice((*byte)(unsafe.Pointer(&v.Elems[0])), n*int(unsafe.Sizeof(""))))
		}
	case *dtype.Sequence:
		for i, x := range v.Items {
			memoryOf(fmt.Sprintf("%s[%d]", name, i), x, put)
		}
	case *dtype.Optional:
		memoryOf(name, v.Item, put)
	case *dtype.Map:
		memoryOf(name+" keys", v.Keys, put)
		memoryOf(name+" values", v.Values, put)
	}
}

// TestResultsAreTheCallers: no result of Eval shares memory with a parameter, an input, another result or another run's.
func TestResultsAreTheCallers(t *testing.T) {
	g := built(t, func(e *nn.Edit) {
		x, w := e.Input("x", "float32[4]"), e.Param("w", initial.Ones{}, 4)
		node := func(name string, in ...*nn.Value) *nn.Value { return e.Node(op.Plain(name), in...).Out(0) }
		s := node("SequenceConstruct", w, x, w)
		e.Output("identity", node("Identity", w))
		e.Output("reshaped", node("Reshape", w, e.Const("two", ints(2, 2))))
		e.Output("of input", node("Identity", x))
		e.Output("view of input", node("Reshape", x, e.Const("twos", ints(2, 2))))
		e.Output("sequence", s)
		e.Output("of it", node("Identity", s))
		e.Output("item", node("SequenceAt", s, e.Const("zero", ints(0))))
		e.Output("inserted", node("SequenceInsert", s, w))
		e.Output("optional", node("Optional", s))
		e.Output("of weight", node("Optional", w))
		e.Output("got", node("OptionalGetElement", node("Optional", w)))
		e.Output("map", e.Node(std.ZipMapConfig{Ints: []int{1, 2}}, node("Reshape", w, e.Const("twos2", ints(2, 2)))).Out(0))
		e.Output("negative", node("Neg", w))
		e.Output("same negative", node("Neg", w))
		e.Output("map of input", e.Node(std.ZipMapConfig{Strings: []string{"a", "b"}}, node("Reshape", x, e.Const("twos3", ints(2, 2)))).Out(0))
	})
	var file bytes.Buffer
	if err := onnxio.Write(&file, g); err != nil {
		t.Fatal(err)
	}
	loaded, err := onnxio.Read(&file)
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range []*nn.Graph{g, loaded} {
		seen := map[*byte]string{}
		put := func(name string, b []byte) {
			for i := range b {
				if other, ok := seen[&b[i]]; ok {
					t.Errorf("%s shares memory with %s", name, other)
					return
				}
			}
			for i := range b {
				seen[&b[i]] = name
			}
		}
		for p := range g.Params() {
			memoryOf("parameter "+p.Name(), p.Tensor(), put)
		}
		x := filled(2, 4)
		memoryOf("input", x, put)
		var want []string
		for _, o := range g.Outputs() {
			want = append(want, o.Name())
		}
		var keep []nn.Feed
		for run := range 3 {
			for _, names := range [][]string{nil, append(want, "x", "w")} {
				out, err := g.Eval(context.Background(), nn.Feed{"x": x}, names...)
				if err != nil {
					t.Fatal(err)
				}
				for name, v := range out {
					memoryOf(fmt.Sprintf("%s of run %d", name, run), v, put)
				}
				keep = append(keep, out)
			}
		}
		_ = keep
	}
}

func ints(v ...int64) *tensor.Dense {
	d, _ := dtype.FromSlice(v, len(v))
	return d
}

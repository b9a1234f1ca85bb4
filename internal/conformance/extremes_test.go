//go:build unix

package conformance_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"iter"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/graft-ml/graft/internal/onnxpb"
	"github.com/graft-ml/graft/internal/oracle"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/std"
	"github.com/graft-ml/graft/onnxio"
	"google.golang.org/protobuf/proto"
	"gorgonia.org/tensor"
)

var extremesOf = flag.Int("extremes", 10, "TestExtremes takes one of so many of its models; 1: all 25,000")

// TestExtremes changes one thing at a time in models of one node that run: an attribute, declared or present, to numbers at its bounds and beyond,
// lists to none, fewer, more and a hundred thousand elements; a number of a small integer input; all numbers of a floating-point input;
// the shape or presence of an input. Each is loaded, saved, loaded again, run and differentiated. That ends in a result or an error, not a
// panic, within two seconds of processor time, and asks for no memory beyond the budget.
func TestExtremes(t *testing.T) {
	if testing.Short() {
		t.Skip("thousands of models")
	}
	nn.LimitMemory(256 << 20)
	defer nn.LimitMemory(0)
	for _, family := range sweeps {
		for _, name := range slices.Sorted(maps.Keys(family)) {
			t.Run(name, func(t *testing.T) {
				r := &draw{Rand: rand.New(rand.NewPCG(*sweepSeed, 0))}
				c := family[name](r)
				m := &onnxpb.ModelProto{}
				if err := proto.Unmarshal(c.model(t, r), m); err != nil {
					t.Fatal(err)
				}
				feed := nn.Feed{}
				for k, a := range c.in {
					if a.value != nil && !a.constant {
						feed[inputName(k)] = a.value
					}
				}
				allHold(t, m, feed)
			})
		}
	}
}

// TestExtremesOfNodes is TestExtremes for the operators of ONNX's node tests that no random model of one node has: the first test of each.
func TestExtremesOfNodes(t *testing.T) {
	if testing.Short() {
		t.Skip("thousands of models")
	}
	dir := filepath.Join(oracle.Shared(t, "onnx-backend"), "node-dev.tar.gz")
	nn.LimitMemory(256 << 20)
	defer nn.LimitMemory(0)
	seen := map[string]bool{}
	for _, family := range sweeps {
		for name := range family {
			seen[name] = true
		}
	}
	tests := unpacked(t, dir)
	for _, name := range slices.Sorted(maps.Keys(tests)) {
		if path.Base(name) != "model.onnx" {
			continue
		}
		m := &onnxpb.ModelProto{}
		if err := proto.Unmarshal(tests[name].Data, m); err != nil {
			t.Fatal(err)
		}
		if len(m.Graph.Node) != 1 || seen[m.Graph.Node[0].GetOpType()] {
			continue
		}
		g, err := onnxio.Read(bytes.NewReader(tests[name].Data))
		if err != nil {
			continue
		}
		var inputs []op.Type
		for _, v := range g.Inputs() {
			inputs = append(inputs, v.Type())
		}
		set, err := onnxio.ReadDataSet(tests, path.Dir(name)+"/test_data_set_0", inputs, nil)
		if err != nil {
			continue
		}
		feed := nn.Feed{}
		for i, v := range g.Inputs() {
			if i < len(set.Inputs) {
				feed[v.Name()] = set.Inputs[i].Value
			}
		}
		seen[m.Graph.Node[0].GetOpType()] = true
		t.Run(m.Graph.Node[0].GetOpType(), func(t *testing.T) {
			allHold(t, m, feed)
		})
	}
}

// allHold checks the extremes of a model, or those of them that chance chooses.
func allHold(t *testing.T, m *onnxpb.ModelProto, feed nn.Feed) {
	t.Helper()
	n, r := 0, rand.New(rand.NewPCG(*sweepSeed, 7))
	for e := range extremes(m, feed) {
		if r.IntN(max(*extremesOf, 1)) == 0 {
			e.holds(t)
			n++
		}
	}
	t.Log(n, "models")
}

// unpacked returns an archive in memory.
func unpacked(t *testing.T, name string) fstest.MapFS {
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	tree := fstest.MapFS{}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if err == io.EOF {
			return tree
		}
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		tree[path.Clean(h.Name)] = &fstest.MapFile{Data: b}
	}
}

// changed is a model with one thing changed.
type changed struct {
	what  string
	model *onnxpb.ModelProto
	feed  nn.Feed
}

// holds checks what TestExtremes says of one model.
func (e changed) holds(t *testing.T) {
	t.Helper()
	b, err := proto.Marshal(e.model)
	if err != nil {
		return // not a model that a file can hold
	}
	what := fmt.Sprintf("%s, %s", e.model.Graph.Node[0].GetOpType(), e.what)
	if len(what) > 300 {
		what = what[:300]
	}
	begin := spent(t)
	for stage, err := range e.use(b) {
		if err != nil && strings.Contains(err.Error(), "panic") {
			t.Errorf("%s: %s: %.400s", what, stage, err)
		}
	}
	if took := spent(t) - begin; took > 2*time.Second {
		t.Errorf("%s: took %v of processor time", what, took)
	}
}

// use yields what each stage says.
func (e changed) use(b []byte) (errs map[string]error) {
	errs = map[string]error{}
	stage := "load"
	defer func() {
		if p := recover(); p != nil {
			errs[stage] = fmt.Errorf("panic: %v", p)
		}
	}()
	g, err := onnxio.Read(bytes.NewReader(b))
	if err != nil {
		errs[stage] = err
		return errs
	}
	stage = "save"
	var first, second bytes.Buffer
	if errs[stage] = onnxio.Write(&first, g); errs[stage] != nil {
		errs[stage] = fmt.Errorf("panic: loads and is not saved: %w", errs[stage])
	}
	again, err := onnxio.Read(bytes.NewReader(first.Bytes()))
	if err == nil {
		err = onnxio.Write(&second, again)
	}
	if err != nil || !bytes.Equal(first.Bytes(), second.Bytes()) {
		errs[stage] = fmt.Errorf("panic: is saved and does not load the same: %v", err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second/2)
	defer cancel()
	stage = "run"
	_, errs[stage] = g.Eval(ctx, e.feed)
	stage = "gradient"
	errs[stage] = e.differentiate(ctx, g)
	return errs
}

// differentiate takes the gradients of the sum of all outputs with respect to the inputs that are fed floating-point numbers.
func (e changed) differentiate(ctx context.Context, g *nn.Graph) error {
	var wrt []string
	for name, v := range e.feed {
		if d, ok := v.(*tensor.Dense); ok && (d.Dtype() == tensor.Float32 || d.Dtype() == tensor.Float64) {
			wrt = append(wrt, name)
		}
	}
	slices.Sort(wrt)
	err := g.Edit(func(e *nn.Edit) {
		no := false
		var loss *nn.Value
		for _, v := range e.Outputs() {
			if t := v.Type(); t.Kind != op.Tensor || t.DType != dtype.Float32 && t.DType != dtype.Float64 {
				continue
			}
			x := e.Node(std.ReduceSumConfig{KeepDims: &no}, v).Out(0)
			if loss != nil && loss.Type().DType == x.Type().DType {
				x = e.Node(op.Plain("Add"), loss, x).Out(0)
			}
			loss = x
		}
		if loss == nil {
			e.Fail(errors.New("no output is a number"))
			return
		}
		e.Output("the loss", loss)
	})
	if err != nil || len(wrt) == 0 {
		return err
	}
	_, err = g.Grad(ctx, e.feed, "the loss", wrt...)
	return err
}

// extremes are models with one thing of the first node changed, or one thing of what it reads.
func extremes(m *onnxpb.ModelProto, feed nn.Feed) iter.Seq[changed] {
	return func(yield func(changed) bool) {
		more := true
		// change yields the model after f.
		change := func(f func(n *onnxpb.NodeProto, e *changed), what string, a ...any) {
			if more {
				e := changed{fmt.Sprintf(what, a...), proto.Clone(m).(*onnxpb.ModelProto), maps.Clone(feed)}
				f(e.model.Graph.Node[0], &e)
				more = yield(e)
			}
		}
		node := m.Graph.Node[0]
		attributes := extremeAttributes(node)
		for _, name := range slices.Sorted(maps.Keys(attributes)) {
			for _, a := range attributes[name] {
				change(func(n *onnxpb.NodeProto, _ *changed) { setAttribute(n, a) }, "attribute %.200v", a)
			}
			change(func(n *onnxpb.NodeProto, _ *changed) {
				n.Attribute = slices.DeleteFunc(n.Attribute, func(a *onnxpb.AttributeProto) bool { return a.GetName() == name })
			}, "without attribute %s", name)
		}
		for i, name := range node.Input {
			change(func(n *onnxpb.NodeProto, _ *changed) { n.Input[i] = "" }, "without input %d", i)
			v := feed[name]
			if v == nil {
				for _, p := range m.Graph.Initializer {
					if p.GetName() == name {
						v = initializerValue(p)
					}
				}
			}
			values := extremeValues(v)
			for _, what := range slices.Sorted(maps.Keys(values)) {
				x := values[what]
				change(func(n *onnxpb.NodeProto, e *changed) { e.give(i, x, false) }, "input %d fed: %s", i, what)
				change(func(n *onnxpb.NodeProto, e *changed) { e.give(i, x, true) }, "input %d constant: %s", i, what)
			}
		}
		change(func(n *onnxpb.NodeProto, _ *changed) { n.Input = append(n.Input, n.Input...) }, "with all inputs twice")
		change(func(n *onnxpb.NodeProto, _ *changed) { n.Output = append(n.Output, "p", "q", "r", "s", "t") }, "with five more outputs")
		change(func(n *onnxpb.NodeProto, _ *changed) { n.Input = nil }, "without inputs")
	}
}

// give makes v input i of the node: an initializer, or fed to an input without a shape.
func (e *changed) give(i int, v dtype.Value, constant bool) {
	g := e.model.Graph
	n := g.Node[0]
	n.Input[i] = "given"
	if constant {
		g.Initializer = append(g.Initializer, constantProto("given", v))
		return
	}
	g.Input = append(g.Input, &onnxpb.ValueInfoProto{Name: proto.String("given"), Type: tensorType(v, nil)})
	e.feed["given"] = v
}

func initializerValue(p *onnxpb.TensorProto) dtype.Value {
	b, err := proto.Marshal(p)
	if err != nil {
		return nil
	}
	n, err := onnxio.ReadTensor(bytes.NewReader(b))
	if err != nil {
		return nil
	}
	return n.Value
}

func setAttribute(n *onnxpb.NodeProto, a *onnxpb.AttributeProto) {
	n.Attribute = append(slices.DeleteFunc(n.Attribute, func(b *onnxpb.AttributeProto) bool { return b.GetName() == a.GetName() }), a)
}

var (
	extremeInts   = []int64{0, -1, 1, 2, -2, 3, 17, -3, 1 << 16, 1 << 20, math.MaxInt32, math.MinInt32, 1 << 32, 1 << 62, math.MaxInt64, math.MinInt64}
	extremeFloats = []float32{0, -1, 2, 1e-30, 1e30, -1e30, float32(math.Inf(1)), float32(math.Inf(-1)), float32(math.NaN())}
	extremeWords  = []string{"", "x", "NOTSET", "SAME_UPPER", "VALID", strings.Repeat("a,", 1000), "ij->", "...", "\xff", "(?P<", "reverse", "linear", "max", "%!s(int"}
)

// extremeAttributes are values for each attribute that the operator of n declares, by the attributes' names.
func extremeAttributes(n *onnxpb.NodeProto) map[string][]*onnxpb.AttributeProto {
	all := map[string][]*onnxpb.AttributeProto{}
	o := std.Operators().Find(n.GetDomain(), n.GetOpType())
	if o == nil || o.Attrs == nil {
		return all
	}
	t := reflect.TypeOf(o.Attrs)
	for i := range t.NumField() {
		tag, ok := t.Field(i).Tag.Lookup("onnx")
		if !ok {
			continue
		}
		name, _, _ := strings.Cut(tag, ",")
		var is *onnxpb.AttributeProto
		for _, a := range n.Attribute {
			if a.GetName() == name {
				is = a
			}
		}
		kind := t.Field(i).Type
		if kind.Kind() == reflect.Pointer {
			kind = kind.Elem()
		}
		add := func(a *onnxpb.AttributeProto, kind onnxpb.AttributeProto_AttributeType) {
			a.Name, a.Type = proto.String(name), kind.Enum()
			all[name] = append(all[name], a)
		}
		switch {
		case kind == reflect.TypeFor[dtype.Value]():
			for _, d := range []dtype.Value{dtype.Scalar(float32(3)), dtype.New(dtype.Float32, 0), dtype.New(dtype.Int64, 2, 3), dtype.New(dtype.Bool, 1), must(dtype.NewStrings([]string{"a"}, 1))} {
				add(&onnxpb.AttributeProto{T: constantProto("", d)}, onnxpb.AttributeProto_TENSOR)
			}
			add(&onnxpb.AttributeProto{}, onnxpb.AttributeProto_TENSOR)
			add(&onnxpb.AttributeProto{T: &onnxpb.TensorProto{DataType: proto.Int32(1), Dims: []int64{1 << 40}}}, onnxpb.AttributeProto_TENSOR)
		case kind == reflect.TypeFor[op.Subgraph]():
			add(&onnxpb.AttributeProto{}, onnxpb.AttributeProto_GRAPH)
			add(&onnxpb.AttributeProto{G: &onnxpb.GraphProto{}}, onnxpb.AttributeProto_GRAPH)
		case kind.Kind() == reflect.Int || kind.Kind() == reflect.Bool:
			for _, x := range extremeInts {
				add(&onnxpb.AttributeProto{I: proto.Int64(x)}, onnxpb.AttributeProto_INT)
			}
		case kind.Kind() == reflect.Float32:
			for _, x := range extremeFloats {
				add(&onnxpb.AttributeProto{F: proto.Float32(x)}, onnxpb.AttributeProto_FLOAT)
			}
		case kind.Kind() == reflect.String:
			for _, x := range extremeWords {
				add(&onnxpb.AttributeProto{S: []byte(x)}, onnxpb.AttributeProto_STRING)
			}
		case kind.Kind() == reflect.Slice && kind.Elem().Kind() == reflect.Int:
			for _, list := range extremeLists(is.GetInts(), extremeInts) {
				add(&onnxpb.AttributeProto{Ints: list}, onnxpb.AttributeProto_INTS)
			}
		case kind.Kind() == reflect.Slice && kind.Elem().Kind() == reflect.Float32:
			for _, list := range extremeLists(is.GetFloats(), extremeFloats) {
				add(&onnxpb.AttributeProto{Floats: list}, onnxpb.AttributeProto_FLOATS)
			}
		case kind.Kind() == reflect.Slice && kind.Elem().Kind() == reflect.String:
			for _, list := range extremeLists(is.GetStrings(), [][]byte{nil, []byte("a"), []byte("zz"), []byte("LEAF"), []byte("BRANCH_LEQ")}) {
				add(&onnxpb.AttributeProto{Strings: list}, onnxpb.AttributeProto_STRINGS)
			}
		}
	}
	return all
}

// extremeLists are lists like is, or like what may stand in its place: one element changed, all, none, one fewer or more, far too many.
func extremeLists[T any](is, extremes []T) (lists [][]T) {
	for _, x := range extremes {
		for n := range 5 {
			if n > 0 && len(is) != n {
				lists = append(lists, slices.Repeat([]T{x}, n))
			}
		}
		lists = append(lists, slices.Repeat([]T{x}, len(is)))
		for i := range min(len(is), 6) {
			list := slices.Clone(is)
			list[i] = x
			lists = append(lists, list)
		}
	}
	lists = append(lists, slices.Repeat(extremes[:1], 100_000), slices.Repeat(extremes[2:3], 100_000))
	if n := len(is); n > 0 {
		lists = append(lists, is[:n-1], append(slices.Clone(is), is[n-1]), slices.Repeat(is, 100_000/n))
	}
	return lists
}

// extremeValues are values like v, by what they are: other numbers, other shapes.
func extremeValues(v dtype.Value) map[string]dtype.Value {
	all := map[string]dtype.Value{}
	d, ok := v.(*tensor.Dense)
	if !ok {
		return all
	}
	t := dtype.Of(d.Dtype())
	shape := slices.Clone([]int(d.Shape()))
	for what, other := range map[string][]int{"a scalar": {}, "empty": {0}, "[1]": {1}, "one axis more": append([]int{1}, shape...), "seven axes": {1, 2, 1, 2, 1, 2, 1}, "long": {100_000}} {
		all[what] = dtype.New(t, other...)
	}
	for i := range shape {
		none := slices.Clone(shape)
		none[i] = 0
		all[fmt.Sprintf("axis %d of length 0", i)] = dtype.New(t, none...)
		for k := range shape {
			if k != i {
				long := slices.Clone(none)
				long[k] = 1 << 40
				all[fmt.Sprintf("axis %d of length 0, axis %d very long", i, k)] = dtype.New(t, long...)
			}
		}
	}
	if elements(shape) == 0 {
		return all // Gorgonia's Data wants an element
	}
	switch s := d.Data().(type) {
	case []int64:
		if len(s) > 64 {
			return all
		}
		for i := range min(len(s), 8) {
			for _, x := range extremeInts {
				c := slices.Clone(s)
				c[i] = x
				all[fmt.Sprintf("%d at %d", x, i)] = must(dtype.FromSlice(c, shape...))
			}
		}
	case []float32:
		for _, x := range extremeFloats {
			all[fmt.Sprintf("all %v", x)] = must(dtype.FromSlice(slices.Repeat([]float32{x}, len(s)), shape...))
			if len(s) > 1 {
				c := slices.Clone(s)
				c[len(c)-1] = x
				all[fmt.Sprintf("%v at the end", x)] = must(dtype.FromSlice(c, shape...))
			}
		}
	}
	return all
}

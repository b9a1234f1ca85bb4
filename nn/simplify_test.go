package nn_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/graft-ml/graft/conformance"
	"github.com/graft-ml/graft/internal/nntest"
	"github.com/graft-ml/graft/internal/oracle"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/initial"
	"github.com/graft-ml/graft/nn/layers"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/std"
	"github.com/graft-ml/graft/onnxio"
	"gorgonia.org/tensor"
)

// TestSimplify: arithmetic on shapes, Identity and Dropout go, also where a dimension of the shape is a symbol if what is
// read of it is not; a weight that is turned at every run stays a weight.
func TestSimplify(t *testing.T) {
	for typ, left := range map[string]int{"float32[2,3,4]": 3, "float32[N,3,4]": 3} {
		g := nn.New("net")
		if err := g.Edit(func(e *nn.Edit) {
			x := e.Input("x", typ)
			shape := e.Node(op.Plain("Shape"), x).Out(0)
			columns := e.Node(std.GatherConfig{}, shape, e.Ints("two", 2)).Out(0)
			rows := e.Node(op.Plain("Mul"), e.Node(std.GatherConfig{}, shape, e.Ints("one", 1)).Out(0), columns).Out(0)
			y := e.Node(op.Plain("Reshape"), x, e.Node(std.ConcatConfig{}, e.Ints("batch", -1), rows).Out(0)).Out(0)
			y = e.Node(op.Plain("Identity"), e.Apply(layers.Dropout{P: 0.5}, y)).Out(0)
			w := e.Node(std.TransposeConfig{}, e.Param("w", initial.Normal{Std: 1}, 5, 12)).Out(0)
			e.Node(op.Plain("Neg"), y) // nothing reads it
			e.Output("y", e.Node(op.Plain("MatMul"), y, w).Out(0))
		}); err != nil {
			t.Fatal(err)
		}
		before, x := nntest.Clone(t, g), sawtooth(2, 3, 4)
		gone := 0
		if err := g.Edit(func(e *nn.Edit) { gone = e.Simplify() }); err != nil {
			t.Fatal(err)
		}
		total := g.Summary().Total
		if total.Nodes != left || before.Summary().Total.Nodes != left+gone || total.Trainable != 60 {
			t.Errorf("%s: %d nodes, %d trainable weights\n%v", typ, total.Nodes, total.Trainable, g.Summary())
		}
		want, err := before.Run(context.Background(), x)
		if err != nil {
			t.Fatal(err)
		}
		got, err := g.Run(context.Background(), x)
		if err == nil {
			_, err = dtype.DefaultTolerance.Compare(got[0], want[0])
		}
		if err != nil {
			t.Error(err)
		}
	}
}

// TestSimplifyBranches: an If whose condition is known, by a constant or by a size, becomes the nodes of its branch, with the
// names of what it gave; what a branch holds or passes on comes along.
func TestSimplifyBranches(t *testing.T) {
	g := nn.New("net")
	if err := g.Edit(func(e *nn.Edit) {
		e.Seed(4)
		x := e.Input("x", "float32[N,1,4]")
		branch := func(name string, captured []*nn.Value, f func(e *nn.Edit, in []*nn.Value) []*nn.Value) *nn.Body {
			return e.Body(name, nil, captured, func(e *nn.Edit, in ...*nn.Value) []*nn.Value { return f(e, in) })
		}
		pick := func(cond *nn.Value, x *nn.Value) []*nn.Value {
			then := branch("yes", []*nn.Value{x}, func(e *nn.Edit, in []*nn.Value) []*nn.Value {
				w := e.Param("w", initial.Normal{Std: 1}, 4)
				nested := e.Body("inner", nil, []*nn.Value{in[0], w}, func(e *nn.Edit, in ...*nn.Value) []*nn.Value {
					return []*nn.Value{e.Node(op.Plain("Mul"), in[0], in[1]).Out(0)}
				})
				other := e.Body("outer", nil, []*nn.Value{in[0]}, func(e *nn.Edit, in ...*nn.Value) []*nn.Value {
					return []*nn.Value{e.Node(op.Plain("Neg"), in[0]).Out(0)}
				})
				size := e.Node(std.CastConfig{To: dtype.Bool}, e.Node(op.Plain("Size"), e.Node(std.ShapeConfig{}, in[0]).Out(0)).Out(0)).Out(0)
				y := e.Node(std.IfConfig{Then: nested, Else: other}, size).Out(0)
				return []*nn.Value{y, in[0], w, e.Node(op.Plain("Exp"), y).Out(0)}
			})
			not := branch("no", []*nn.Value{x}, func(e *nn.Edit, in []*nn.Value) []*nn.Value {
				y := e.Node(op.Plain("Neg"), in[0]).Out(0)
				return []*nn.Value{y, y, e.Param("v", initial.Normal{Std: 1}, 4), y}
			})
			n := e.NodeN(std.IfConfig{Then: then, Else: not}, 4, cond)
			return []*nn.Value{n.Out(0), n.Out(1), n.Out(2), n.Out(3)}
		}
		length := e.Node(std.GatherConfig{}, e.Node(std.ShapeConfig{}, x).Out(0), e.Ints("which", 1)).Out(0)
		first := pick(e.Node(op.Plain("Equal"), length, e.Ints("one", 1)).Out(0), x)
		second := pick(e.Const("no", dtype.Scalar(false)), e.Node(op.Plain("Add"), first[0], first[2]).Out(0))
		sum := e.Node(op.Plain("ReduceSum"), x).Out(0)
		open := pick(e.Node(op.Plain("Greater"), sum, e.Const("zero", dtype.Scalar(float32(0)))).Out(0), second[0])
		for i, v := range []*nn.Value{first[1], first[2], first[3], second[1], second[2], open[0]} {
			e.Output([]string{"a", "b", "c", "d", "e", "f"}[i], v)
		}
	}); err != nil {
		t.Fatal(err)
	}
	before, x := nntest.Clone(t, g), sawtooth(3, 1, 4)
	gone := 0
	if err := g.Edit(func(e *nn.Edit) { gone = e.Simplify() }); err != nil {
		t.Fatal(err)
	}
	branches := 0
	for n := range g.Nodes() {
		if n.Type() == "If" {
			branches++
		}
	}
	if branches != 1 || gone < 6 {
		t.Errorf("%d branches, %d nodes went\n%v", branches, gone, g.Summary())
	}
	same := func(a, b *nn.Graph) {
		t.Helper()
		want, err := a.Run(context.Background(), x)
		if err != nil {
			t.Fatal(err)
		}
		got, err := b.Run(context.Background(), x)
		if err != nil || len(got) != len(want) {
			t.Fatal(len(got), err)
		}
		for i := range want {
			if a.Outputs()[i].Name() != b.Outputs()[i].Name() {
				t.Errorf("output %d is %s", i, b.Outputs()[i].Name())
			}
			if _, err := dtype.DefaultTolerance.Compare(got[i], want[i]); err != nil {
				t.Error(err)
			}
		}
	}
	same(before, g)
	file := filepath.Join(t.TempDir(), "model.onnx")
	if err := onnxio.Save(file, g); err != nil {
		t.Fatal(err)
	}
	again, err := onnxio.Load(file)
	if err != nil {
		t.Fatal(err)
	}
	same(before, again)
	if err := before.Edit(func(e *nn.Edit) { e.Simplify(); e.Failf("no") }); err == nil {
		t.Fatal("the edit did not fail")
	}
	same(g, before)
}

func sawtooth(dims ...int) *tensor.Dense {
	d := dtype.New(dtype.Float32, dims...)
	for i, v := 0, dtype.Slice[float32](d); i < len(v); i++ {
		v[i] = float32(i%7) - 3
	}
	return d
}

// TestSimplifyModels: the shared models give the same answers afterwards, in ONNX Runtime, too.
func TestSimplifyModels(t *testing.T) {
	folder := oracle.Shared(t, "models")
	list, err := filepath.Glob(filepath.Join(folder, "*", "model.onnx"))
	if err != nil || len(list) == 0 {
		t.Fatal("no models", err)
	}
	ort := oracle.ORT(t)
	for _, file := range list {
		t.Run(filepath.Base(filepath.Dir(file)), func(t *testing.T) {
			g, err := onnxio.Load(file)
			if err != nil {
				t.Fatal(err)
			}
			before, gone := g.Summary().Total.Nodes, 0
			length, open := openSizes[filepath.Base(filepath.Dir(file))]
			if open { // branches that lengths decide
				if err := g.Edit(func(e *nn.Edit) {
					x := e.Inputs()[0]
					e.Input(x.Name(), fmt.Sprintf("%v[batch,%d]", x.Type().DType, length))
				}); err != nil {
					t.Fatal(err)
				}
			}
			if err := g.Edit(func(e *nn.Edit) { gone = e.Simplify() }); err != nil {
				t.Fatal(err)
			}
			t.Logf("%d of %d nodes went", gone, before)
			small := filepath.Join(t.TempDir(), "model.onnx")
			if err := onnxio.Save(small, g); err != nil {
				t.Fatal(err)
			}
			dims := map[string]int{}
			for s := range conformance.Symbols(g) {
				dims[s] = 2
			}
			feed, err := conformance.RandomInputs(g, dims, 1)
			if err != nil {
				t.Fatal(err)
			}
			in := map[string]oracle.Tensor{}
			for name, v := range feed {
				d, ok := v.(*tensor.Dense)
				if !ok {
					t.Skip("an input is not a tensor")
				}
				in[name] = oracle.Tensor{DType: dtype.Of(d.Dtype()).String(), Shape: append([]int{}, d.Shape()...), Data: dtype.Bytes(d)}
			}
			want, err := ort.RunFile(file, in)
			if err != nil {
				t.Skip("ONNX Runtime does not run the model on random inputs:", err)
			}
			got, err := ort.RunFile(small, in)
			if err != nil {
				t.Fatal(err)
			}
			for name, w := range want {
				if err := oracle.Close(got[name], w, 1e-4, 1e-5); err != nil {
					t.Errorf("%s: %v", name, err)
				}
			}
			if info, err := os.Stat(small); err != nil || info.Size() == 0 {
				t.Error(err)
			}
		})
	}
}

package nn_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/graft-ml/graft/conformance"
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
			y = e.Node(op.Plain("Identity"), e.Apply(layers.Dropout{}, y)).Out(0)
			w := e.Node(std.TransposeConfig{}, e.Param("w", initial.Normal{Std: 1}, 5, 12)).Out(0)
			e.Node(op.Plain("Neg"), y) // nothing reads it
			e.Output("y", e.Node(op.Plain("MatMul"), y, w).Out(0))
		}); err != nil {
			t.Fatal(err)
		}
		before, x := g.Clone(), sawtooth(2, 3, 4)
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

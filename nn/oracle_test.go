package nn_test

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/graft-ml/graft/internal/oracle"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/std"
	"github.com/graft-ml/graft/onnxio"
	"gorgonia.org/tensor"
)

// TestLayersInRuntime saves every layer in several operator sets: ONNX Runtime must accept the file
// and compute what the graph computes.
func TestLayersInRuntime(t *testing.T) {
	ort := oracle.ORT(t)
	for _, c := range layerCases {
		t.Run(c.name, func(t *testing.T) {
			for _, opset := range []int{21, 17, 13, 11, 9, 7} {
				if opset < c.old {
					continue
				}
				g := nn.NewGraph("m", std.Operators(), map[string]int{"": opset})
				edit(t, g, func(e *nn.Edit) {
					x := e.Input("x", c.in)
					e.Output("y", e.Apply(nn.Sequential{c.layer, nn.Op{Config: op.Plain("Identity")}}, x))
				})
				x := sample(t, g.Inputs()[0].Type())
				in := oracle.Tensor{DType: dtype.Of(x.Dtype()).String(), Shape: append([]int{}, x.Shape()...), Data: dtype.Bytes(x)}
				file := filepath.Join(t.TempDir(), fmt.Sprintf("%d.onnx", opset))
				if err := onnxio.Save(file, g); err != nil {
					t.Fatal(err)
				}
				out, err := ort.RunFile(file, map[string]oracle.Tensor{"x": in})
				if err != nil {
					t.Fatalf("operator set %d: %v", opset, err)
				}
				want, err := out["y"].Float64s()
				if err != nil {
					t.Fatal(err)
				}
				near(t, fmt.Sprintf("operator set %d", opset), run(t, g, x), want, 1e-5)
			}
		})
	}
}

// sample is an input of the given type, each open dimension of its own small size.
func sample(t *testing.T, typ op.Type) *tensor.Dense {
	t.Helper()
	shape, n := typ.Sizes(), 1
	for i, d := range shape {
		if d < 0 {
			shape[i] = 2 + i
		}
		n *= shape[i]
	}
	v := make([]float64, n)
	for i := range v {
		v[i] = float64((i*7919+13)%101)/50 - 1
		if typ.DType.IsInteger() {
			v[i] = float64(i % 4)
		}
	}
	x, err := dtype.FromFloats(typ.DType, v, shape...)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// TestHeadInRuntime saves models with a new head and runs the files in ONNX Runtime.
func TestHeadInRuntime(t *testing.T) {
	ort := oracle.ORT(t)
	for _, model := range []string{"squeezenet1.1", "mnist-cnn", "mnist-bn-cnn", "traffic-sign"} {
		t.Run(model, func(t *testing.T) {
			g := shared(t, model)
			edit(t, g, func(e *nn.Edit) {
				e.Head(nn.Head{Labels: []string{"a", "b", "c"}})
				t.Log(e.Notes())
			})
			x := sample(t, g.Inputs()[0].Type())
			file := filepath.Join(t.TempDir(), "m.onnx")
			if err := onnxio.Save(file, g); err != nil {
				t.Fatal(err)
			}
			in := oracle.Tensor{DType: dtype.Of(x.Dtype()).String(), Shape: append([]int{}, x.Shape()...), Data: dtype.Bytes(x)}
			out, err := ort.RunFile(file, map[string]oracle.Tensor{g.Inputs()[0].Name(): in})
			if err != nil {
				t.Fatal(err)
			}
			want, err := out[g.Outputs()[0].Name()].Float64s()
			if err != nil {
				t.Fatal(err)
			}
			near(t, model, run(t, g, x), want, 1e-4)
			back, err := onnxio.Load(file)
			if err != nil {
				t.Fatal(err)
			}
			if got := back.Labels(); len(got) != 3 {
				t.Errorf("labels after loading: %q", got)
			}
		})
	}
}

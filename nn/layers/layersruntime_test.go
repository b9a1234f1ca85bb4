package layers_test

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/graft-ml/graft/internal/oracle"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/internal/nntest"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/std"
	"github.com/graft-ml/graft/onnxio"
)

// TestLayersInRuntime saves every layer in several operator sets: ONNX Runtime must accept the file
// and compute what the graph computes.
func TestLayersInRuntime(t *testing.T) {
	ort := oracle.ORT(t)
	for _, c := range nntest.LayerCases {
		t.Run(c.Name, func(t *testing.T) {
			for _, opset := range []int{21, 17, 13, 11, 9, 7} {
				if opset < c.Old {
					continue
				}
				g := nn.NewGraph("m", std.Operators(), map[string]int{"": opset})
				nntest.Edit(t, g, func(e *nn.Edit) {
					x := e.Input("x", c.In)
					e.Output("y", e.Apply(nn.Sequential{c.Layer, nn.OpLayer{Config: op.Plain("Identity")}}, x))
				})
				x := nntest.Sample(t, g.Inputs()[0].Type())
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
				nntest.Near(t, fmt.Sprintf("operator set %d", opset), nntest.Run(t, g, x), want, 1e-5)
			}
		})
	}
}

package nn_test

import (
	"path/filepath"
	"testing"

	"github.com/graft-ml/graft/internal/nntest"
	"github.com/graft-ml/graft/internal/oracle"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/onnxio"
)

// TestHeadInRuntime saves models with a new head and runs the files in ONNX Runtime.
func TestHeadInRuntime(t *testing.T) {
	ort := oracle.ORT(t)
	for _, model := range []string{"squeezenet1.1", "mnist-cnn", "mnist-bn-cnn", "traffic-sign"} {
		t.Run(model, func(t *testing.T) {
			g := shared(t, model)
			nntest.Edit(t, g, func(e *nn.Edit) {
				e.Head(nn.Head{Labels: []string{"a", "b", "c"}})
				t.Log(e.Notes())
			})
			x := nntest.Sample(t, g.Inputs()[0].Type())
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
			nntest.Near(t, model, nntest.Run(t, g, x), want, 1e-4)
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

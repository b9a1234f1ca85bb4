package onnxio

import (
	"encoding/json"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/graft-ml/graft/internal/oracle"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/layers"
	"gorgonia.org/tensor"
)

// toOracle returns a tensor in the form that ONNX Runtime is asked in.
func toOracle(v dtype.Value) (oracle.Tensor, bool) {
	d, ok := v.(*tensor.Dense)
	if !ok {
		return oracle.Tensor{}, false
	}
	dt := dtype.Of(d.Dtype())
	return oracle.Tensor{DType: dt.String(), Shape: append([]int{}, d.Shape()...), Data: rawData(d, dt)}, true
}

// TestSavedInRuntime saves every model of the shared folder, weights beside it, and runs the file
// in ONNX Runtime: it must compute what the data set says.
func TestSavedInRuntime(t *testing.T) {
	fsys := os.DirFS(oracle.Shared(t, "models"))
	ort := oracle.ORT(t)
	for model := range models(t, fsys) {
		t.Run(path.Dir(model), func(t *testing.T) {
			g, err := Loader{FS: fsys}.Load(model)
			if err != nil {
				t.Fatal(err)
			}
			file := filepath.Join(t.TempDir(), "model.onnx")
			if err := (Saver{ExternalOver: 1000}).Save(file, g); err != nil {
				t.Fatal(err)
			}
			runInRuntime(t, ort, fsys, path.Dir(model), g, file)
		})
	}
}

func runInRuntime(t *testing.T, ort *oracle.Runtime, fsys fs.FS, dir string, g *nn.Graph, file string) {
	t.Helper()
	set, err := ReadDataSet(fsys, dir+"/test_data_set_0", typesOf(g.Inputs()), typesOf(g.Outputs()))
	if err != nil {
		t.Fatal(err)
	}
	tol := struct {
		dtype.Tolerance
		Outputs []float64 `json:"atol_outputs"`
	}{Tolerance: dtype.DefaultTolerance}
	if b, err := fs.ReadFile(fsys, dir+"/data.json"); err == nil {
		if err := json.Unmarshal(b, &tol); err != nil {
			t.Fatal(err)
		}
	}
	in := map[string]oracle.Tensor{}
	for i, v := range g.Inputs() {
		x, ok := toOracle(set.Inputs[i].Value)
		if !ok {
			t.Skip("an input is no tensor of numbers")
		}
		in[v.Name()] = x
	}
	out, err := ort.RunFile(file, in)
	if err != nil {
		t.Fatal(err)
	}
	for i, v := range g.Outputs() {
		want, ok := toOracle(set.Outputs[i].Value)
		if !ok {
			continue
		}
		if err := oracle.Close(out[v.Name()], want, tol.Rtol, tol.Outputs[i]); err != nil {
			t.Errorf("output %s: %v", v.Name(), err)
		}
	}
}

// TestEditedInRuntime inserts a layer that changes nothing, renames values and lets ONNX Runtime
// run the file.
func TestEditedInRuntime(t *testing.T) {
	fsys := os.DirFS(oracle.Shared(t, "models"))
	ort := oracle.ORT(t)
	for _, name := range []string{"mnist-bn-cnn", "ultraface-slim-320", "torch-resnet-mini", "mnist-cnn", "silero-vad-16k"} {
		t.Run(name, func(t *testing.T) {
			g, err := Loader{FS: fsys}.Load(name + "/model.onnx")
			if err != nil {
				t.Fatal(err)
			}
			if err := g.Edit(func(e *nn.Edit) {
				for _, n := range e.Nodes(nn.Ops("Relu"))[:1] {
					e.Insert(n.Out(0), layers.ReLU{}) // a second one changes nothing
					e.RenameValue(n.Out(0), "renamed by the test")
				}
				for _, n := range e.Nodes(nn.Ops("Conv")) {
					if p := n.In(1); p.Param() != nil && !strings.Contains(p.Name(), "renamed") {
						e.RenameValue(p, "renamed "+p.Name())
					}
				}
			}); err != nil {
				t.Fatal(err)
			}
			file := filepath.Join(t.TempDir(), "model.onnx")
			if err := Save(file, g); err != nil {
				t.Fatal(err)
			}
			runInRuntime(t, ort, fsys, name, g, file)
		})
	}
}

package conformance_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/graft-ml/graft/internal/oracle"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/onnxio"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// models are those that walk the whole way.
var models = []string{
	"mnist-cnn", "mnist-bn-cnn", "squeezenet1.1", "silero-vad-16k", "super-resolution", "yunet-n-320",
	"torch-mlp", "torch-resnet-mini", "torch-lstm", "torch-bert-mini", "torch-unet",
}

// load reads a model and the inputs of its first test set.
func load(t *testing.T, name string) (*nn.Graph, nn.Feed) {
	t.Helper()
	dir := oracle.Shared(t, "models", name)
	g, err := onnxio.Load(filepath.Join(dir, "model.onnx"))
	if err != nil {
		t.Fatal(err)
	}
	feed := nn.Feed{}
	for i, v := range g.Inputs() {
		feed[v.Name()] = readTensor(t, filepath.Join(dir, "test_data_set_0", fmt.Sprintf("input_%d.pb", i)))
	}
	return g, feed
}

func readTensor(t *testing.T, path string) dtype.Value {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	n, err := onnxio.ReadTensor(f)
	if err != nil {
		t.Fatal(err)
	}
	return n.Value
}

// near fails unless two values agree within tol, relative to the largest element.
func near(t *testing.T, name string, got, want dtype.Value, tol float64) {
	t.Helper()
	a, err := dtype.Float64s(dense(t, got))
	if err != nil {
		t.Fatal(err)
	}
	b, err := dtype.Float64s(dense(t, want))
	if err != nil {
		t.Fatal(err)
	}
	if len(a) != len(b) {
		t.Fatalf("%s: %d elements, want %d", name, len(a), len(b))
	}
	worst, scale := 0.0, 1e-6
	for i := range a {
		worst = max(worst, a[i]-b[i], b[i]-a[i])
		scale = max(scale, b[i], -b[i])
	}
	if !(worst <= tol*scale) {
		t.Errorf("%s: differs by %g of %g", name, worst, scale)
	}
}

func dense(t *testing.T, v dtype.Value) *tensor.Dense {
	t.Helper()
	switch v := v.(type) {
	case *tensor.Dense:
		return v
	case *gorgonia.F32:
		return dtype.Scalar(float32(*v))
	}
	t.Fatalf("a %T is no tensor", v)
	return nil
}

// TestTapeMachine runs lowered models on Gorgonia's own machine: the Ops are real Gorgonia Ops,
// and the engine's schedule and memory change nothing.
func TestTapeMachine(t *testing.T) {
	for _, name := range models {
		t.Run(name, func(t *testing.T) {
			g, feed := load(t, name)
			want, err := g.Eval(t.Context(), feed)
			if err != nil {
				t.Fatal(err)
			}
			l, err := g.Lower(nn.LowerOptions{Feed: feed})
			if err != nil {
				t.Fatal(err)
			}
			vm := gorgonia.NewTapeMachine(l.ExprGraph)
			defer vm.Close()
			if err := vm.RunAll(); err != nil {
				t.Fatal(err)
			}
			for i, v := range g.Outputs() {
				near(t, v.Name(), l.Outputs[i].Value(), want[v.Name()], 1e-6)
			}
		})
	}
}

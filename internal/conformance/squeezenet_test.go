package conformance_test

import (
	"context"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"github.com/graft-ml/graft/internal/oracle"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/onnxio"
	"github.com/graft-ml/graft/optim"
	"github.com/graft-ml/graft/train"
	"github.com/graft-ml/graft/train/data"
	"gorgonia.org/tensor"
)

// TestSqueezeNetLearnsDigits takes a zoo model whose batch is fixed at 1 and whose classifier is
// a convolution under pooling and softmax: it gets a free batch, another image size, a head
// for ten classes, and learns MNIST from enlarged images.
func TestSqueezeNetLearnsDigits(t *testing.T) {
	if testing.Short() {
		t.Skip("trains for a minute")
	}
	path := filepath.Join(oracle.Shared(t, "models", "squeezenet1.1"), "model.onnx")
	fixed, err := onnxio.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	input := fixed.Inputs()[0].Name()
	const size = 64
	g, err := onnxio.Loader{Inputs: []string{input + " float32[N,3,64,64]"}}.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := g.Edit(func(e *nn.Edit) { e.Head(nn.Head{Classes: 10}) }); err != nil {
		t.Fatal(err)
	}
	if err := g.Check(); err != nil {
		t.Fatal(err)
	}
	all := enlarged(t, size)
	fit, val := data.Subset(all, span(0, 1600)), data.Subset(all, span(8000, 8400))
	tr, err := train.New(g, train.Config{Rule: optim.AdamW{LR: 3e-4}, Epochs: 2, Batch: 32, Seed: 1, Log: func(train.Event) {}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tr.Fit(t.Context(), fit, val); err != nil {
		t.Fatal(err)
	}
	m, err := train.Evaluate(context.Background(), g, val, &train.Accuracy{})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("accuracy on 400 digits after two epochs of 1600: %.3f", m["accuracy"])
	if m["accuracy"] < 0.9 {
		t.Errorf("accuracy %.3f, want at least 0.9", m["accuracy"])
	}
	out := filepath.Join(t.TempDir(), "digits.onnx")
	if err := onnxio.Save(out, g); err != nil {
		t.Fatal(err)
	}
	again, err := onnxio.Load(out)
	if err != nil {
		t.Fatal(err)
	}
	if got := again.Inputs()[0].Type().String(); got != "float32[N,3,64,64]" {
		t.Errorf("the saved input is %s", got)
	}
}

func span(lo, hi int) []int {
	s := make([]int, hi-lo)
	for i := range s {
		s[i] = lo + i
	}
	return s
}

// enlarged is MNIST as colour images of the given size, in the range that ImageNet models expect.
func enlarged(t *testing.T, size int) data.Dataset[data.Sample] {
	t.Helper()
	dir := oracle.Shared(t, "data", "mnist")
	set := mnist(t, dir)
	return data.Map(set, func(s data.Sample, _ *rand.Rand) (data.Sample, error) {
		src := dtype.Slice[float32](s.X[0])
		dst := make([]float32, 3*size*size)
		for y := range size {
			for x := range size {
				v := (src[y*28/size*28+x*28/size] - 0.45) / 0.225
				for c := range 3 {
					dst[(c*size+y)*size+x] = v
				}
			}
		}
		d, err := dtype.FromSlice(dst, 3, size, size)
		return data.Sample{X: []*tensor.Dense{d}, Y: s.Y}, err
	})
}

func mnist(t *testing.T, dir string) data.Dataset[data.Sample] {
	t.Helper()
	set, err := data.IDX(filepath.Join(dir, "t10k-images-idx3-ubyte.gz"), filepath.Join(dir, "t10k-labels-idx1-ubyte.gz"))
	if err != nil {
		t.Fatal(err)
	}
	return set
}

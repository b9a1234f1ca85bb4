package train_test

import (
	"context"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/layers"
	"github.com/graft-ml/graft/onnxio"
	"github.com/graft-ml/graft/train"
	"github.com/graft-ml/graft/train/data"
)

// shapes are images of 12×12 with a horizontal, vertical or diagonal bar somewhere, in noise.
func shapes(n int, seed uint64) data.Dataset[data.Sample] {
	const size = 12
	r := rand.New(rand.NewPCG(seed, 2))
	x, y := dtype.New(dtype.Float32, n, 1, size, size), dtype.New(dtype.Int64, n)
	xs, ys := dtype.Slice[float32](x), dtype.Slice[int64](y)
	for i := range n {
		p := xs[i*size*size:][:size*size]
		for k := range p {
			p[k] = 0.3 * float32(r.NormFloat64())
		}
		c, row, col := r.IntN(3), r.IntN(size-6), r.IntN(size-6)
		ys[i] = int64(c)
		for k := range 6 {
			at := []int{row*size + col + k, (row+k)*size + col, (row+k)*size + col + k}[c]
			p[at] = 1
		}
	}
	s, err := data.Tensors(x, y)
	if err != nil {
		panic(err)
	}
	return s
}

// A convolutional network is written, trained from scratch, saved with a symbolic batch and
// loaded again.
func TestFromScratch(t *testing.T) {
	ctx := context.Background()
	g := nn.New("bars")
	err := g.Edit(func(e *nn.Edit) {
		x := e.Input("image", "float32[N,1,12,12]")
		e.Output("scores", e.Apply(nn.Sequential{
			layers.Conv{Out: 8, Kernel: []int{3}, Same: true, NoBias: true}, layers.BatchNorm{}, layers.ReLU{}, layers.MaxPool{Kernel: []int{2}},
			layers.Conv{Out: 16, Kernel: []int{3}, Same: true, NoBias: true}, layers.BatchNorm{}, layers.ReLU{}, layers.MaxPool{Kernel: []int{2}},
			layers.Flatten{}, layers.Dropout{P: 0.3}, layers.Linear{Out: 3},
		}, x))
	})
	if err != nil {
		t.Fatal(err)
	}
	fit, val := data.Split(shapes(1200, 1), 0.25, 1)
	h, err := train.Fit(ctx, g, quiet(train.Config{Epochs: 3, Batch: 32, Seed: 1}), fit, val)
	if err != nil {
		t.Fatal(err)
	}
	if acc := h.Last().Val["accuracy"]; acc < 0.95 {
		t.Errorf("accuracy %.3f:\n%v", acc, h)
	}
	path := filepath.Join(t.TempDir(), "bars.onnx")
	if err := onnxio.Save(path, g); err != nil {
		t.Fatal(err)
	}
	back, err := onnxio.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	if s := back.Inputs()[0].Type().String(); s != "float32[N,1,12,12]" {
		t.Errorf("the input came back as %s", s)
	}
	m, err := train.Evaluate(ctx, back, val)
	if err != nil || m["accuracy"] != h.Last().Val["accuracy"] {
		t.Errorf("after a round trip %v, %v", m, err)
	}
	for _, v := range back.Outputs() {
		if p := v.Producer(); p.Type() == "SoftmaxCrossEntropyLoss" {
			t.Error("the loss was saved with the model")
		}
	}
}

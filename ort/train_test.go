package ort_test

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/layers"
	"github.com/graft-ml/graft/onnxio"
	"github.com/graft-ml/graft/optim"
	"github.com/graft-ml/graft/train"
	"github.com/graft-ml/graft/train/data"
	"gorgonia.org/tensor"
)

// network returns a model of layers, the same each time.
func network(t testing.TB, in string, layers ...nn.Layer) *nn.Graph {
	return graph(t, func(e *nn.Edit) {
		e.Seed(7)
		e.Output("scores", e.Apply(nn.Sequential(layers), e.Input("x", in)))
	})
}

// samples are of three classes, by the first numbers of each.
func samples(t testing.TB, n int, shape ...int) data.Dataset[data.Sample] {
	t.Helper()
	r := rand.New(rand.NewPCG(7, 7))
	x, y := dtype.New(dtype.Float32, append([]int{n}, shape...)...), dtype.New(dtype.Int64, n)
	size := dtype.Product(shape)
	for i := range n {
		row := dtype.Slice[float32](x)[i*size : (i+1)*size]
		for k := range row {
			row[k] = float32(r.NormFloat64())
		}
		if row[0]+row[1] > 0 {
			dtype.Slice[int64](y)[i] = 1
		} else if row[2] > 0.5 {
			dtype.Slice[int64](y)[i] = 2
		}
	}
	s, err := data.Tensors(x, y)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// alike compares the parameters of two graphs.
func alike(t *testing.T, got, want *nn.Graph, within float64) {
	t.Helper()
	of := map[string]*tensor.Dense{}
	for p := range want.Params() {
		of[p.Name()] = p.Data()
	}
	for p := range got.Params() {
		if p.Data() == nil {
			continue
		}
		if d, err := (dtype.Tolerance{Rtol: within, Atol: within}).Compare(p.Data(), of[p.Name()]); err != nil {
			t.Errorf("%s: %v (%v)", p.Name(), err, d)
		}
	}
}

// TestTrain checks that epochs in ONNX Runtime agree with those of the engine in losses, validation,
// weights and statistics.
func TestTrain(t *testing.T) {
	r := runtime(t)
	conv := []nn.Layer{layers.Conv{Out: 6, Kernel: []int{3, 3}, Same: true}, layers.ReLU{}, layers.BatchNorm{}, layers.Dropout{P: 0.2}, layers.GlobalAvgPool{}, layers.Flatten{}, layers.Linear{Out: 3}}
	mlp := []nn.Layer{layers.Linear{Out: 8}, layers.GELU{}, layers.LayerNorm{}, layers.Linear{Out: 3}}
	for name, c := range map[string]struct {
		layers []nn.Layer
		shape  []int
		in     string
		train.Config
	}{
		"convolution": {conv, []int{2, 6, 6}, "float32[N,2,6,6]", train.Config{Rule: optim.SGD{LR: 0.05, Momentum: 0.9}, ClipNorm: 1}},
		"norm":        {mlp, []int{5}, "float32[N,5]", train.Config{Rule: optim.AdamW{LR: 0.01}, Schedule: optim.CosineLR{}, EMA: 0.95}},
		"accumulate":  {mlp, []int{5}, "float32[N,5]", train.Config{Rule: optim.RMSprop{LR: 0.003}, Accumulate: 3}},
	} {
		t.Run(name, func(t *testing.T) {
			c.Epochs, c.Batch, c.Seed, c.Log = 3, 8, 5, train.Quiet
			a, b := network(t, c.in, c.layers...), network(t, c.in, c.layers...)
			fit, val := samples(t, 60, c.shape...), samples(t, 20, c.shape...)
			want, err := train.Fit(t.Context(), a, c.Config, fit, val)
			if err != nil {
				t.Fatal(err)
			}
			c.Runtime = r
			got, err := train.Fit(t.Context(), b, c.Config, fit, val)
			if err != nil {
				t.Fatal(err)
			}
			for i := range want {
				for _, x := range [][2]float64{{got[i].Loss, want[i].Loss}, {got[i].Norm, want[i].Norm}, {got[i].Val["loss"], want[i].Val["loss"]}} {
					if math.Abs(x[0]-x[1]) > 1e-4*max(1, math.Abs(x[1])) {
						t.Errorf("epoch %d: %v, with the engine %v", i+1, got[i], want[i])
					}
				}
			}
			alike(t, b, a, 2e-4)
		})
	}
}

// A run that was interrupted in the middle of an epoch goes on to the bytes of one that was not, and so do files.
func TestResume(t *testing.T) {
	r := runtime(t)
	layers := []nn.Layer{layers.Linear{Out: 8}, layers.ReLU{}, layers.BatchNorm{}, layers.Linear{Out: 3}}
	fit, val := samples(t, 60, 5), samples(t, 20, 5)
	run := func(g *nn.Graph, dir string, stop int) error {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		c := train.Config{Rule: optim.AdamW{LR: 0.01}, EMA: 0.9, Epochs: 4, Batch: 8, Log: train.Quiet, Runtime: r, Dir: dir, Resume: true}
		c.OnStep = func(s train.StepInfo) error {
			if s.Step == stop {
				cancel()
			}
			return nil
		}
		_, err := train.Fit(ctx, g, c, fit, val)
		return err
	}
	whole, first, second := network(t, "float32[N,5]", layers...), network(t, "float32[N,5]", layers...), network(t, "float32[N,5]", layers...)
	if err := run(whole, t.TempDir(), 0); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := run(first, dir, 11); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if err := run(second, dir, 0); err != nil {
		t.Fatal(err)
	}
	alike(t, second, whole, 0)
	last, err := onnxio.Load(filepath.Join(dir, "last.onnx"))
	if err != nil {
		t.Fatal(err)
	}
	alike(t, last, whole, 0)
}

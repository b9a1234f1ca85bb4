package ort_test

import (
	"math/rand/v2"
	"testing"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/layers"
	"github.com/graft-ml/graft/optim"
	"github.com/graft-ml/graft/train"
	"github.com/graft-ml/graft/train/data"
	"gorgonia.org/tensor"
)

// BenchmarkStep is a step of AdamW on 32 images of 28×28 by a convolutional network, in the engine and in ONNX Runtime.
func BenchmarkStep(b *testing.B) {
	layers := nn.Sequential{
		layers.Conv{Out: 32, Kernel: []int{3}, Same: true}, layers.ReLU{}, layers.MaxPool{Kernel: []int{2}},
		layers.Conv{Out: 64, Kernel: []int{3}, Same: true}, layers.ReLU{}, layers.MaxPool{Kernel: []int{2}}, layers.Flatten{}, layers.Linear{Out: 10},
	}
	r := rand.New(rand.NewPCG(1, 2))
	batch := data.Sample{X: []*tensor.Dense{dtype.New(dtype.Float32, 32, 1, 28, 28)}, Y: []*tensor.Dense{dtype.New(dtype.Int64, 32)}}
	for i := range dtype.Slice[float32](batch.X[0]) {
		dtype.Slice[float32](batch.X[0])[i] = float32(r.NormFloat64())
	}
	for name, rt := range map[string]train.Runtime{"graft": nil, "ort": runtime(b)} {
		b.Run(name, func(b *testing.B) {
			t, err := train.New(network(b, "float32[N,1,28,28]", layers), train.Config{Rule: optim.AdamW{}, Log: train.Quiet, Runtime: rt})
			if err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				if _, err := t.Step(b.Context(), batch); err != nil {
					b.Fatal(err)
				}
			}
			if err := t.Close(); err != nil {
				b.Fatal(err)
			}
		})
	}
}

package main

import (
	"math/rand/v2"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/train/data"
	"gorgonia.org/tensor"
)

// batchOf returns a random batch for a model, with numbers or classes for targets.
func batchOf(r *rand.Rand, g *nn.Graph, size int, numbers bool) (data.Sample, error) {
	var s data.Sample
	for _, v := range g.Inputs() {
		d, err := random(r, v.Type().DType, 2, sizes(v.Type(), size))
		if err != nil {
			return s, err
		}
		s.X = append(s.X, d)
	}
	shape, t, classes := sizes(g.Outputs()[0].Type(), size), dtype.Float32, 0
	if !numbers {
		classes, t = shape[1], dtype.Int64
		shape = append(shape[:1], shape[2:]...)
		for len(shape) > 1 && shape[len(shape)-1] == 1 {
			shape = shape[:len(shape)-1]
		}
	}
	d, err := random(r, t, classes, shape)
	s.Y = []*tensor.Dense{d}
	return s, err
}

// sizes returns those of a type whose open dimensions are size.
func sizes(t op.Type, size int) []int {
	var shape []int
	for _, d := range t.Shape {
		if !d.Known() {
			d.Size = size
		}
		shape = append(shape, d.Size)
	}
	return shape
}

// random are normal numbers, or integers below a bound.
func random(r *rand.Rand, t op.DType, below int, shape []int) (*tensor.Dense, error) {
	if t.IsFloat() {
		list := make([]float64, dtype.Product(shape))
		for i := range list {
			list[i] = r.NormFloat64()
		}
		return dtype.FromFloats(t, list, shape...)
	}
	list := make([]int, dtype.Product(shape))
	for i := range list {
		list[i] = r.IntN(below)
	}
	return dtype.FromInts(t, list, shape...)
}

package optest

import (
	"fmt"
	"math/rand/v2"

	"github.com/graft-ml/graft/nn/dtype"
	"gorgonia.org/tensor"
)

// Spread returns a float32 tensor of distinct values between lo and hi in random order, evenly spaced with a little
// noise: no two are close to each other, so comparisons are never ties. The values depend only on the seed and the shape.
func Spread(seed uint64, lo, hi float64, shape ...int) *tensor.Dense {
	d := dtype.New(dtype.Float32, shape...)
	x := dtype.Slice[float32](d)
	r := rand.New(rand.NewPCG(seed, 1))
	for i, p := range r.Perm(len(x)) {
		at := (float64(p) + 0.5 + 0.4*(r.Float64()-0.5)) / float64(len(x))
		x[i] = float32(lo + at*(hi-lo))
	}
	return d
}

// Rand is Spread over [−2, 2] without a neighbourhood of 0, where many functions are not differentiable.
func Rand(seed uint64, shape ...int) *tensor.Dense {
	d := Spread(seed, -2, 2, shape...)
	for i, v := range dtype.Slice[float32](d) {
		if v > -0.05 && v < 0.05 {
			dtype.Slice[float32](d)[i] = v + 2.07
		}
	}
	return d
}

// Tensor returns a tensor with the given elements. It panics if they do not fit the shape.
func Tensor[T any](elems []T, shape ...int) *tensor.Dense {
	d, err := dtype.FromSlice(elems, shape...)
	if err != nil {
		panic(fmt.Sprintf("optest: %v", err))
	}
	return d
}

// Floats returns a float32 tensor with the given elements.
func Floats(shape []int, elems ...float32) *tensor.Dense { return Tensor(elems, shape...) }

// Ints returns an int64 vector.
func Ints(elems ...int64) *tensor.Dense { return Tensor(elems, len(elems)) }

// As returns d with elements of another type.
func As(t dtype.DType, d *tensor.Dense) *tensor.Dense {
	c, err := dtype.ConvertTo(t, d)
	if err != nil {
		panic(fmt.Sprintf("optest: %v", err))
	}
	return c
}

// clone copies a tensor; other values are taken as they are.
func clone(v dtype.Value) dtype.Value {
	if d := dense(v); d != nil {
		return dtype.Clone(d)
	}
	return v
}

// normal returns a tensor of random weights of magnitude 0.5 to 1.5.
func normal(r *rand.Rand, t dtype.DType, shape ...int) *tensor.Dense {
	d := dtype.New(dtype.Float64, shape...)
	for i := range dtype.Slice[float64](d) {
		v := 0.5 + r.Float64()
		if r.IntN(2) == 0 {
			v = -v
		}
		dtype.Slice[float64](d)[i] = v
	}
	return As(t, d)
}

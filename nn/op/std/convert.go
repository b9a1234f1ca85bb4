package std

import (
	"github.com/graft-ml/graft/internal/engine"
	"github.com/graft-ml/graft/internal/kernel"
	"github.com/graft-ml/graft/internal/kernel/elementwise"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"gorgonia.org/tensor"
)

// convert is how.Convert for the elements of dst, by a kernel if there is one for the two types.
func convert(p *kernel.Pool, how dtype.Cast, dst, src *tensor.Dense) error {
	f := conversions[[2]op.DType{dtype.Of(src.Dtype()), dtype.Of(dst.Dtype())}]
	if f != nil {
		f(p, dst, src)
		return nil
	}
	return inSegments(p, dst, src, func(_ int, dst, src *tensor.Dense) error { return how.Convert(dst, src) })
}

// inSegments calls f for consecutive segments of dst and src, which have equally many elements, with the position of the first one, and checks before
// each whether the run is stopped.
func inSegments(p *kernel.Pool, dst, src *tensor.Dense, f func(lo int, dst, src *tensor.Dense) error) error {
	n := src.Shape().TotalSize()
	if n <= checkEvery {
		return f(0, dst, src)
	}
	to, err := dtype.View(dst, n)
	if err != nil {
		return err
	}
	from, err := dtype.View(src, n)
	if err != nil {
		return err
	}
	for lo := 0; lo < n; lo += checkEvery {
		p.Check()
		if err := f(lo, segment(to, lo), segment(from, lo)); err != nil {
			return err
		}
	}
	return nil
}

// segment is up to checkEvery elements of a vector, from lo on.
func segment(d *tensor.Dense, lo int) *tensor.Dense {
	s, err := d.Slice(tensor.S(lo, min(lo+checkEvery, d.Size())))
	if err != nil {
		panic(err)
	}
	return s.(*tensor.Dense)
}

// convertTo is src with elements of type t: a new tensor, or src itself if it has that type.
func convertTo(p *kernel.Pool, t op.DType, src *tensor.Dense) (*tensor.Dense, error) {
	if dtype.Of(src.Dtype()) == t {
		return src, nil
	}
	dst := engine.Uncleared(t, src.Shape()...)
	return dst, convert(p, dtype.Cast{}, dst, src)
}

// float64s returns a copy of the elements of d, any numbers.
func float64s(p *kernel.Pool, d *tensor.Dense) ([]float64, error) {
	if n := d.Shape().TotalSize(); n > checkEvery {
		v := kernel.Uncleared[float64](n)
		to, err := dtype.FromSlice(v, n)
		if err != nil {
			return nil, err
		}
		return v, convert(p, dtype.Cast{}, to, d)
	}
	return dtype.Float64s(d)
}

// int64s returns a copy of the elements of d, any integers or bools.
func int64s(p *kernel.Pool, d *tensor.Dense) ([]int64, error) {
	if n := d.Shape().TotalSize(); n > checkEvery {
		v := kernel.Uncleared[int64](n)
		to, err := dtype.FromSlice(v, n)
		if err != nil {
			return nil, err
		}
		return v, convert(p, dtype.Cast{}, to, d)
	}
	return dtype.Int64s(d)
}

// conversions are the kernels, by source and target type.
var conversions = map[[2]op.DType]func(p *kernel.Pool, dst, src *tensor.Dense){
	{dtype.Float16, dtype.Float32}:  conversion(elementwise.Float16ToFloat32),
	{dtype.Float32, dtype.Float16}:  conversion(elementwise.Float32ToFloat16),
	{dtype.BFloat16, dtype.Float32}: conversion(elementwise.BFloat16ToFloat32),
	{dtype.Float32, dtype.BFloat16}: conversion(elementwise.Float32ToBFloat16),
	{dtype.Float64, dtype.Float32}:  conversion(elementwise.Float64ToFloat32),
	{dtype.Float32, dtype.Float64}:  conversion(elementwise.Float32ToFloat64),
	{dtype.Int64, dtype.Float32}:    conversion(elementwise.Int64ToFloat32),
	{dtype.Float32, dtype.Int64}:    conversion(elementwise.Float32ToInt64),
	{dtype.Uint8, dtype.Float32}:    byteConversion(elementwise.Uint8ToFloat32),
	{dtype.Bool, dtype.Float32}:     byteConversion(elementwise.Uint8ToFloat32),
	{dtype.Uint8, dtype.Int64}:      byteConversion(elementwise.Uint8ToInt64),
	{dtype.Bool, dtype.Int64}:       byteConversion(elementwise.Uint8ToInt64),
}

func conversion[D, S any](f func(p *kernel.Pool, dst []D, src []S)) func(p *kernel.Pool, dst, src *tensor.Dense) {
	return func(p *kernel.Pool, dst, src *tensor.Dense) { f(p, dtype.Slice[D](dst), dtype.Slice[S](src)) }
}

// byteConversion takes bools as well, which are 0 and 1.
func byteConversion[D any](f func(p *kernel.Pool, dst []D, src []uint8)) func(p *kernel.Pool, dst, src *tensor.Dense) {
	return func(p *kernel.Pool, dst, src *tensor.Dense) { f(p, dtype.Slice[D](dst), dtype.Bytes(src)) }
}

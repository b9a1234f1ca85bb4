package data

import (
	"fmt"
	"slices"

	"gorgonia.org/tensor"
)

// Converted returns a function that converts an image tensor made by from into the one that to would have made. They may
// differ in range, mean and deviation, and must have the same shape and order of channels.
func Converted(from, to Preprocess) (func(*tensor.Dense) (*tensor.Dense, error), error) {
	if !slices.Equal(from.Shape(), to.Shape()) || from.BGR != to.BGR || from.NHWC != to.NHWC {
		return nil, fmt.Errorf("data: images prepared as %v cannot be converted to %v: size, layout and channel order must be equal", from, to)
	}
	c := from.channels()
	scale, shift := make([]float32, c), make([]float32, c)
	for k := range c {
		color := k
		if from.BGR {
			color = c - 1 - k
		}
		// The pixel is p = (x·std + mean)/range.
		gain := to.white() / from.white() / pick(to.Std, color, 1)
		scale[k] = float32(gain * pick(from.Std, color, 1))
		shift[k] = float32(gain*pick(from.Mean, color, 0) - pick(to.Mean, color, 0)/pick(to.Std, color, 1))
	}
	return func(x *tensor.Dense) (*tensor.Dense, error) {
		if x.Dtype() != tensor.Float32 || !slices.Equal(x.Shape(), from.Shape()) || !contiguous(x) {
			return nil, fmt.Errorf("data: %v of shape %v, want an image of %v", x.Dtype(), x.Shape(), from.Shape())
		}
		v := x.Float32s()
		out := make([]float32, len(v))
		inner := len(v) / c
		for i := range v {
			k := i / inner
			if from.NHWC {
				k = i % c
			}
			out[i] = scale[k]*v[i] + shift[k]
		}
		return tensor.New(tensor.WithShape(from.Shape()...), tensor.WithBacking(out)), nil
	}, nil
}

package std

import (
	"fmt"
	"slices"

	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"gorgonia.org/tensor"
)

// compute1 is Compute for one output.
func compute1(c *op.Call, of op.Config, version int, in ...dtype.Value) (dtype.Value, error) {
	out, err := c.Compute(1, of, version, in...)
	if err != nil {
		return nil, err
	}
	return out[0], nil
}

// indexValue is index i along an axis of v, without that axis.
func indexValue(c *op.Call, v dtype.Value, axis, i int) (dtype.Value, error) {
	part, err := compute1(c, SliceConfig{Starts: []int{i}, Ends: []int{i + 1}, Axes: []int{axis}}, 1, v)
	if err != nil {
		return nil, err
	}
	return compute1(c, SqueezeConfig{Axes: []int{axis}}, 1, part)
}

// partWork is about the work, as [kernel.Pace] counts it, of computing one part of a value.
const partWork = 1 << 12

// reshaped is a tensor of numbers or strings with another shape. It shares the elements of v.
func reshaped(v dtype.Value, shape []int) (dtype.Value, error) {
	switch v := v.(type) {
	case *tensor.Dense:
		return dtype.View(v, shape...)
	case *dtype.Strings:
		return dtype.NewStrings(v.Elems, shape...)
	}
	return nil, fmt.Errorf("cannot change the shape of a %T", v)
}

// stackValues puts values of equal shape after one another along a new axis.
func stackValues(c *op.Call, list []dtype.Value, axis int) (dtype.Value, error) {
	parts, pace := make([]dtype.Value, len(list)), poolOf(c).Pace()
	for i, v := range list {
		pace.Did(partWork)
		shape := v.Shape()
		at, err := c.Axis(axis, len(shape)+1)
		if err != nil {
			return nil, err
		}
		if parts[i], err = reshaped(v, slices.Insert(slices.Clone([]int(shape)), at, 1)); err != nil {
			return nil, err
		}
	}
	return compute1(c, ConcatConfig{Axis: axis}, 13, parts...)
}

package std

import (
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
)

// compute1 is compute for one output.
func compute1(s op.Set, c op.Config, version int, in ...dtype.Value) (dtype.Value, error) {
	out, err := s.Compute(1, c, version, in...)
	if err != nil {
		return nil, err
	}
	return out[0], nil
}

// indexValue is index i along an axis of v, without that axis.
func indexValue(s op.Set, v dtype.Value, axis, i int) (dtype.Value, error) {
	part, err := compute1(s, SliceConfig{Starts: []int{i}, Ends: []int{i + 1}, Axes: []int{axis}}, 1, v)
	if err != nil {
		return nil, err
	}
	return compute1(s, SqueezeConfig{Axes: []int{axis}}, 1, part)
}

// stackValues puts values of equal shape after one another along a new axis.
func stackValues(s op.Set, list []dtype.Value, axis int) (dtype.Value, error) {
	parts := make([]dtype.Value, len(list))
	for i, v := range list {
		var err error
		if parts[i], err = compute1(s, UnsqueezeConfig{Axes: []int{axis}}, 1, v); err != nil {
			return nil, err
		}
	}
	return compute1(s, ConcatConfig{Axis: axis}, 13, parts...)
}

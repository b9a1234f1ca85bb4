package op

import "github.com/graft-ml/graft/nn/dtype"

// Compute applies an operator to values at once and returns its first n outputs; version is the since-version that
// it has, 0 for the latest.
func (s Set) Compute(n int, c Config, version int, in ...dtype.Value) ([]dtype.Value, error) {
	types := make([]Type, len(in))
	for i, v := range in {
		types[i] = TypeOf(v)
	}
	call, err := s.NewCall(c, types...)
	if err != nil {
		return nil, err
	}
	if call.Outputs = n; version != 0 {
		call.Version = version
	}
	for i, v := range in {
		call.Known[i].Value = v
	}
	if err := call.Resolve(); err != nil {
		return nil, err
	}
	return Eval(call, in)
}

// compute1 is compute for one output.
func (s Set) compute1(c Config, version int, in ...dtype.Value) (dtype.Value, error) {
	out, err := s.Compute(1, c, version, in...)
	if err != nil {
		return nil, err
	}
	return out[0], nil
}

// indexValue is index i along an axis of v, without that axis.
func (s Set) indexValue(v dtype.Value, axis, i int) (dtype.Value, error) {
	part, err := s.compute1(SliceConfig{Starts: []int{i}, Ends: []int{i + 1}, Axes: []int{axis}}, 1, v)
	if err != nil {
		return nil, err
	}
	return s.compute1(SqueezeConfig{Axes: []int{axis}}, 1, part)
}

// stackValues puts values of equal shape behind one another along a new axis.
func (s Set) stackValues(list []dtype.Value, axis int) (dtype.Value, error) {
	parts := make([]dtype.Value, len(list))
	for i, v := range list {
		var err error
		if parts[i], err = s.compute1(UnsqueezeConfig{Axes: []int{axis}}, 1, v); err != nil {
			return nil, err
		}
	}
	return s.compute1(ConcatConfig{Axis: axis}, 13, parts...)
}

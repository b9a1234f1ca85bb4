package dtype

import (
	"fmt"
	"slices"

	"gorgonia.org/tensor"
)

// Join concatenates tensors along their first axis. They must have the same element type and the same shape beyond the
// first axis, and be contiguous.
func Join(list ...*tensor.Dense) (*tensor.Dense, error) {
	if len(list) == 0 {
		return nil, fmt.Errorf("no tensor to join")
	}
	if len(list) == 1 {
		return list[0], nil
	}
	first := list[0]
	shape := slices.Clone(first.Shape())
	for i, d := range list {
		if d.Dims() == 0 || d.Dtype() != first.Dtype() || d.Dims() != first.Dims() || !slices.Equal(d.Shape()[1:], first.Shape()[1:]) {
			return nil, fmt.Errorf("tensor %d is %v %v, the first %v %v: they do not join along axis 0", i, d.Dtype(), d.Shape(), first.Dtype(), first.Shape())
		}
		if i > 0 {
			shape[0] += d.Shape()[0]
		}
	}
	out := New(Of(first.Dtype()), shape...)
	to := Bytes(out)
	for _, d := range list {
		to = to[copy(to, Bytes(d)):]
	}
	return out, nil
}

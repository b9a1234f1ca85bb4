package data

import (
	"fmt"
	"math/rand/v2"
	"reflect"

	"gorgonia.org/tensor"
)

// Tensors is a set in memory: sample i is row i of x and of y, without the
// first axis. The rows share memory with x and y. A nil y makes samples
// without targets.
func Tensors(x, y *tensor.Dense) (Set[Sample], error) {
	s := rows{x: x, y: y}
	if err := s.check("x", x); err != nil {
		return nil, err
	}
	s.n = x.Shape()[0]
	if y != nil {
		if err := s.check("y", y); err != nil {
			return nil, err
		}
		if m := y.Shape()[0]; m != s.n {
			return nil, fmt.Errorf("data: x has %d rows (shape %v), y has %d (shape %v)", s.n, x.Shape(), m, y.Shape())
		}
	}
	return s, nil
}

type rows struct {
	x, y *tensor.Dense
	n    int
}

func (rows) check(name string, t *tensor.Dense) error {
	switch {
	case t == nil:
		return fmt.Errorf("data: %s is nil", name)
	case t.Dims() == 0:
		return fmt.Errorf("data: %s is a scalar, want a tensor with a first axis of samples", name)
	case !contiguous(t):
		return fmt.Errorf("data: %s of shape %v is not contiguous in row-major order", name, t.Shape())
	}
	return nil
}

func (s rows) Len() int { return s.n }

func (s rows) At(i int, _ *rand.Rand) (Sample, error) {
	if err := within(i, s.n); err != nil {
		return Sample{}, err
	}
	out := Sample{X: []*tensor.Dense{row(s.x, i)}}
	if s.y != nil {
		out.Y = []*tensor.Dense{row(s.y, i)}
	}
	return out, nil
}

// row is t[i] as a tensor of its own over the same memory.
func row(t *tensor.Dense, i int) *tensor.Dense {
	shape := t.Shape()[1:]
	n := elements(shape)
	part := reflect.MakeSlice(reflect.SliceOf(t.Dtype().Type), 0, 0)
	if n > 0 {
		part = backing(t).Slice3(i*n, (i+1)*n, (i+1)*n)
	}
	return tensor.New(tensor.WithShape(shape...), tensor.WithBacking(part.Interface()))
}

// label is a class as samples carry it: int64 of rank 0.
func label(class int) *tensor.Dense { return tensor.New(tensor.FromScalar(int64(class))) }

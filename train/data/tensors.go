package data

import (
	"fmt"
	"math/rand/v2"
	"reflect"

	"gorgonia.org/tensor"
)

// Tensors returns a set in memory: sample i is row i of x and of y, without the first axis. The rows share memory with x and
// y. With a nil y samples have no targets.
func Tensors(x, y *tensor.Dense) (Dataset[Sample], error) {
	targets := []*tensor.Dense{y}
	if y == nil {
		targets = nil
	}
	return Stacked([]*tensor.Dense{x}, targets)
}

// Stacked is Tensors for several inputs and targets, in order.
func Stacked(x, y []*tensor.Dense) (Dataset[Sample], error) {
	if len(x) == 0 {
		return nil, fmt.Errorf("data: a set without inputs")
	}
	s := rows{x: x, y: y, n: -1}
	for k, list := range [][]*tensor.Dense{x, y} {
		for i, t := range list {
			name := string("xy"[k])
			if len(list) > 1 {
				name = fmt.Sprintf("%s[%d]", name, i)
			}
			if err := s.add(name, t); err != nil {
				return nil, err
			}
		}
	}
	return s, nil
}

type rows struct {
	x, y []*tensor.Dense
	n    int
}

// add checks one of the tensors.
func (s *rows) add(name string, t *tensor.Dense) error {
	switch {
	case t == nil:
		return fmt.Errorf("data: %s is nil", name)
	case t.Dims() == 0:
		return fmt.Errorf("data: %s is a scalar, want a tensor with a first axis of samples", name)
	case !contiguous(t):
		return fmt.Errorf("data: %s of shape %v is not contiguous in row-major order", name, t.Shape())
	case s.n >= 0 && t.Shape()[0] != s.n:
		return fmt.Errorf("data: x has %d rows (shape %v), %s has %d (shape %v)", s.n, s.x[0].Shape(), name, t.Shape()[0], t.Shape())
	}
	s.n = t.Shape()[0]
	return nil
}

func (s rows) Len() int { return s.n }

func (s rows) At(i int, _ *rand.Rand) (Sample, error) {
	if err := within(i, s.n); err != nil {
		return Sample{}, err
	}
	var out Sample
	for _, t := range s.x {
		out.X = append(out.X, row(t, i))
	}
	for _, t := range s.y {
		out.Y = append(out.Y, row(t, i))
	}
	return out, nil
}

// row returns t[i] as a tensor that shares t's memory.
func row(t *tensor.Dense, i int) *tensor.Dense {
	shape := t.Shape()[1:]
	n := elements(shape)
	part := reflect.MakeSlice(reflect.SliceOf(t.Dtype().Type), 0, 0)
	if n > 0 {
		part = backing(t).Slice3(i*n, (i+1)*n, (i+1)*n)
	}
	return tensor.New(tensor.WithShape(shape...), tensor.WithBacking(part.Interface()))
}

// label returns a class in the form of samples: int64 of rank 0.
func label(class int) *tensor.Dense { return tensor.New(tensor.FromScalar(int64(class))) }

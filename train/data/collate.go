package data

import (
	"fmt"
	"reflect"
	"slices"

	"github.com/graft-ml/graft/internal/budget"
	"github.com/graft-ml/graft/nn/dtype"
	"gorgonia.org/tensor"
)

// Collate stacks samples to a batch: each tensor gets a new first axis of size len(samples). All samples must have the
// same number of tensors, with the same shapes and element types, except for lengths that are padded (Padding); the
// error names the sample that does not fit.
func Collate(samples []Sample) (Sample, error) { return collate(samples, nil) }

// collate calls sample i id[i] in errors.
func collate(samples []Sample, id []int) (Sample, error) {
	if len(samples) == 0 {
		return Sample{}, fmt.Errorf("data: a batch of no samples")
	}
	if err := samePadding(samples, naming(id)); err != nil {
		return Sample{}, err
	}
	if samples[0].Pad != nil {
		var err error
		if samples, err = padded(samples, id); err != nil {
			return Sample{}, err
		}
	}
	into, err := newStack(samples[0], len(samples), id)
	if err != nil {
		return Sample{}, err
	}
	for _, s := range samples {
		if err := into.put(s); err != nil {
			return Sample{}, err
		}
	}
	return into.batch, nil
}

// naming calls sample i id[i], or i.
func naming(id []int) func(i int) int {
	return func(i int) int {
		if id != nil {
			return id[i]
		}
		return i
	}
}

// padded returns padded samples with tensors of equal shapes.
func padded(samples []Sample, id []int) ([]Sample, error) {
	pad, out := samples[0].Pad, slices.Clone(samples)
	for _, what := range []string{"input", "target"} {
		by := pad.values(what)
		for k := range min(len(by), len(samples[0].part(what))) {
			column := make([]*tensor.Dense, len(samples))
			for i, s := range out {
				if err := sameCount(s, out[0], what, i, id); err != nil {
					return nil, err
				}
				column[i] = s.part(what)[k]
			}
			for i, t := range pad.level(column, by[k]) {
				list := slices.Clone(out[i].part(what))
				list[k] = t
				if what == "input" {
					out[i].X = list
				} else {
					out[i].Y = list
				}
			}
		}
	}
	return out, nil
}

// part returns the inputs or the targets.
func (s Sample) part(what string) []*tensor.Dense {
	if what == "input" {
		return s.X
	}
	return s.Y
}

// sameCount returns an error if sample i does not have as many inputs or targets as the first.
func sameCount(s, first Sample, what string, i int, id []int) error {
	if n := len(first.part(what)); len(s.part(what)) != n {
		return fmt.Errorf("data: sample %d has %d %ss, sample %d has %d", naming(id)(i), len(s.part(what)), what, naming(id)(0), n)
	}
	return nil
}

// stack is a batch into which samples are copied one by one, so that they need not be in memory together.
type stack struct {
	batch Sample
	first Sample
	to    map[*tensor.Dense]reflect.Value // the elements of each tensor of the batch
	count int                             // samples so far
	id    []int
}

// newStack returns a batch of n samples like the first, charged to the memory budget.
func newStack(first Sample, n int, id []int) (*stack, error) {
	s := &stack{first: first, id: id, to: map[*tensor.Dense]reflect.Value{}}
	for _, what := range []string{"input", "target"} {
		for k, t := range first.part(what) {
			if err := fits(t, t); err != nil {
				return nil, fmt.Errorf("data: sample %d, %s %d: %w (sample %d)", naming(id)(0), what, k, err, naming(id)(0))
			}
			shape := append([]int{n}, t.Shape()...)
			size, err := dtype.Count(shape)
			if err != nil {
				return nil, fmt.Errorf("data: a batch of %d samples: %w", n, err)
			}
			var all reflect.Value
			if _, err := budget.Made(int64(size)*int64(t.Dtype().Size()), func() *byte {
				if all = reflect.MakeSlice(reflect.SliceOf(t.Dtype().Type), size, size); size == 0 {
					return nil
				}
				return (*byte)(all.UnsafePointer())
			}); err != nil {
				return nil, fmt.Errorf("data: a batch of %d samples: %w", n, err)
			}
			d := tensor.New(tensor.WithShape(shape...), tensor.WithBacking(all.Interface()))
			if s.to[d] = all; what == "input" {
				s.batch.X = append(s.batch.X, d)
			} else {
				s.batch.Y = append(s.batch.Y, d)
			}
		}
	}
	return s, nil
}

// put copies the next sample. It uses reflection once per tensor, not per element, so that it works for all element types, including strings.
func (s *stack) put(x Sample) error {
	name := naming(s.id)
	if err := samePadding([]Sample{s.first, x}, func(i int) int { return name(i * s.count) }); err != nil {
		return err
	}
	for _, what := range []string{"input", "target"} {
		if err := sameCount(x, s.first, what, s.count, s.id); err != nil {
			return err
		}
		for k, t := range x.part(what) {
			if err := fits(t, s.first.part(what)[k]); err != nil {
				return fmt.Errorf("data: sample %d, %s %d: %w (sample %d)", name(s.count), what, k, err, name(0))
			}
			if n := elements(t.Shape()); n > 0 { // an empty tensor's Data panics
				reflect.Copy(s.to[s.batch.part(what)[k]].Slice(s.count*n, (s.count+1)*n), backing(t))
			}
		}
	}
	s.count++
	return nil
}

// fits returns an error that describes how t differs from the batch's first tensor.
func fits(t, first *tensor.Dense) error {
	switch {
	case t == nil || first == nil:
		return fmt.Errorf("no tensor, want one as in the batch's first")
	case !contiguous(t):
		return fmt.Errorf("not contiguous in row-major order, want tensors as in the batch's first")
	case t.Dtype() != first.Dtype():
		return fmt.Errorf("element type %v, want %v as in the batch's first", t.Dtype(), first.Dtype())
	case !slices.Equal(t.Shape(), first.Shape()):
		return fmt.Errorf("shape %v, want %v as in the batch's first", t.Shape(), first.Shape())
	}
	return nil
}

// contiguous reports whether t's memory is its elements in row-major order.
func contiguous(t *tensor.Dense) bool {
	return elements(t.Shape()) == 0 || !t.RequiresIterator() && !t.DataOrder().IsColMajor()
}

// elements returns the product of a shape, 1 for rank 0.
func elements(shape []int) int {
	n := 1
	for _, d := range shape {
		n *= d
	}
	return n
}

// backing returns the elements of a non-empty tensor as a slice, even if Data returns
// a scalar.
func backing(t *tensor.Dense) reflect.Value {
	v := reflect.ValueOf(t.Data())
	if v.Type() == t.Dtype().Type {
		one := reflect.MakeSlice(reflect.SliceOf(v.Type()), 1, 1)
		one.Index(0).Set(v)
		return one
	}
	return v
}

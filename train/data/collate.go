package data

import (
	"fmt"
	"reflect"
	"slices"

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
	var b Sample
	var err error
	x := func(s Sample) []*tensor.Dense { return s.X }
	y := func(s Sample) []*tensor.Dense { return s.Y }
	if b.X, err = stackAll(samples, id, "input", x); err != nil {
		return Sample{}, err
	}
	if b.Y, err = stackAll(samples, id, "target", y); err != nil {
		return Sample{}, err
	}
	return b, nil
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

func stackAll(samples []Sample, id []int, what string, part func(Sample) []*tensor.Dense) ([]*tensor.Dense, error) {
	name, pad := naming(id), samples[0].Pad
	n := len(part(samples[0]))
	out := make([]*tensor.Dense, n)
	column := make([]*tensor.Dense, len(samples))
	for k := range n {
		for i, s := range samples {
			p := part(s)
			if len(p) != n {
				return nil, fmt.Errorf("data: sample %d has %d %ss, sample %d has %d", name(i), len(p), what, name(0), n)
			}
			column[i] = p[k]
		}
		if by := pad.values(what); k < len(by) {
			column = pad.level(column, by[k])
		}
		for i := range samples {
			if err := fits(column[i], column[0]); err != nil {
				return nil, fmt.Errorf("data: sample %d, %s %d: %w (sample %d)", name(i), what, k, err, name(0))
			}
		}
		out[k] = stack(column)
	}
	return out, nil
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

// stack copies tensors of the same shape and type into one. It uses reflection once per
// tensor, not per element, so that it works for all element types, including strings.
func stack(ts []*tensor.Dense) *tensor.Dense {
	shape := append([]int{len(ts)}, ts[0].Shape()...)
	n := elements(ts[0].Shape())
	all := reflect.MakeSlice(reflect.SliceOf(ts[0].Dtype().Type), n*len(ts), n*len(ts))
	for i, t := range ts {
		if n > 0 { // an empty tensor's Data panics
			reflect.Copy(all.Slice(i*n, (i+1)*n), backing(t))
		}
	}
	return tensor.New(tensor.WithShape(shape...), tensor.WithBacking(all.Interface()))
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

package data

import (
	"fmt"
	"reflect"

	"gorgonia.org/tensor"
)

// Padding says how sequences of unequal length become a batch: along the first axis of a sample, tensors are filled up to the
// length of the batch's longest. A mask that is 1 for what is there and filled up with 0 lets the model tell, a target filled up
// with −100 is one that CrossEntropy and its metrics pass over. Tensors of rank 0 are left as they are.
type Padding struct {
	X, Y     []float64 // what each input and target is filled up with; those beyond the list are not
	Multiple int       // lengths are rounded up to a multiple of it, so that fewer differ; 0: they are not
	Most     int       // rounding goes no further; 0: any
	Left     bool      // what is missing is put in front
}

// values are those of the inputs or of the targets.
func (p *Padding) values(what string) []float64 {
	if p == nil {
		return nil
	}
	if what == "target" {
		return p.Y
	}
	return p.X
}

// level fills tensors up to one length. Tensors that do not go together are left to be found by others.
func (p *Padding) level(ts []*tensor.Dense, by float64) []*tensor.Dense {
	longest := 0
	for _, t := range ts {
		if t == nil || t.Dims() == 0 || t.Dims() != ts[0].Dims() || !contiguous(t) {
			return ts
		}
		longest = max(longest, t.Shape()[0])
	}
	if m := p.Multiple; m > 0 {
		up := (longest + m - 1) / m * m
		if p.Most > 0 {
			up = max(longest, min(up, p.Most))
		}
		longest = up
	}
	out := make([]*tensor.Dense, len(ts))
	for i, t := range ts {
		if out[i] = t; t.Shape()[0] != longest {
			out[i] = p.fill(t, longest, by)
		}
	}
	return out
}

func (p *Padding) fill(t *tensor.Dense, length int, by float64) *tensor.Dense {
	shape := t.Shape().Clone()
	shape[0] = length
	n := elements(t.Shape())
	all := reflect.MakeSlice(reflect.SliceOf(t.Dtype().Type), elements(shape), elements(shape))
	from := 0 // where the elements go
	if p.Left {
		from = all.Len() - n
	}
	if value := reflect.ValueOf(by); value.CanConvert(t.Dtype().Type) {
		value = value.Convert(t.Dtype().Type)
		for i := range all.Len() {
			all.Index(i).Set(value)
		}
	}
	if n > 0 {
		reflect.Copy(all.Slice(from, from+n), backing(t))
	}
	return tensor.New(tensor.WithShape(shape...), tensor.WithBacking(all.Interface()))
}

// samePadding refuses a batch whose samples are filled up in different ways.
func samePadding(samples []Sample, name func(i int) int) error {
	for i, s := range samples {
		if (s.Pad == nil) != (samples[0].Pad == nil) {
			return fmt.Errorf("data: sample %d and sample %d: one says how to fill it up, the other does not", name(0), name(i))
		}
	}
	return nil
}

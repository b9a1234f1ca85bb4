package data

import (
	"fmt"
	"reflect"

	"gorgonia.org/tensor"
)

// Padding describes how sequences of different lengths are batched: tensors are padded along the first axis of a sample
// to the length of the longest in the batch. A mask of ones that is padded with 0 tells the model about it; targets
// padded with −100 are ignored by CrossEntropy and its metrics. Tensors of rank 0 are not changed.
type Padding struct {
	X, Y     []float64 // padding value of each input and target; those beyond the list are not padded
	Multiple int       // round lengths up to a multiple of this, so that there are fewer shapes; 0: do not
	Most     int       // largest length after rounding; 0: any
	Left     bool      // pad at the start
}

// values returns the padding values of the inputs or of the targets.
func (p *Padding) values(what string) []float64 {
	if p == nil {
		return nil
	}
	if what == "target" {
		return p.Y
	}
	return p.X
}

// level pads tensors to the same length. Mismatches of other kinds are left for collate to report.
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
	from := 0 // offset of the elements
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

// samePadding returns an error if samples of a batch have different Padding.
func samePadding(samples []Sample, name func(i int) int) error {
	for i, s := range samples {
		if (s.Pad == nil) != (samples[0].Pad == nil) {
			return fmt.Errorf("data: only one of the samples %d and %d has a padding: want it for all samples of a batch or none", name(0), name(i))
		}
	}
	return nil
}

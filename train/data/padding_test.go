package data_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/graft-ml/graft/train/data"
	"gorgonia.org/tensor"
)

func sequence(pad *data.Padding, list ...int64) data.Sample {
	mask, tags := make([]float32, len(list)), make([]int64, len(list))
	for i := range list {
		mask[i], tags[i] = 1, list[i]+1
	}
	d := func(x any) *tensor.Dense { return tensor.New(tensor.WithShape(len(list)), tensor.WithBacking(x)) }
	return data.Sample{X: []*tensor.Dense{d(list), d(mask)}, Y: []*tensor.Dense{d(tags)}, Pad: pad}
}

// TestPadding checks that sequences of unequal length are padded to the longest, rounded up, through nested sets.
func TestPadding(t *testing.T) {
	p := &data.Padding{X: []float64{9, 0}, Y: []float64{-100}}
	set := data.Subset(data.Concat(data.Of(sequence(p, 1, 2, 3)), data.Of(sequence(p, 4))), []int{1, 0})
	for b, err := range (data.BatchLoader{Workers: 1}).Batches(context.Background(), set, 0) {
		if err != nil {
			t.Fatal(err)
		}
		if got, want := fmt.Sprint(b.X[0].Data(), b.X[1].Data(), b.Y[0].Data(), b.X[0].Shape()), "[4 9 9 1 2 3] [1 0 0 1 1 1] [5 -100 -100 2 3 4] (2, 3)"; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	for _, c := range []struct {
		pad  data.Padding
		want string
	}{
		{data.Padding{X: []float64{0, 0}, Y: []float64{0}, Multiple: 4}, "[4 0 0 0 1 2 3 0]"},
		{data.Padding{X: []float64{0, 0}, Y: []float64{0}, Multiple: 8, Most: 5, Left: true}, "[0 0 0 0 4 0 0 1 2 3]"},
		{data.Padding{X: []float64{0, 0}, Y: []float64{0}, Multiple: 8, Most: 2}, "[4 0 0 1 2 3]"},
	} {
		b, err := data.Collate([]data.Sample{sequence(&c.pad, 4), sequence(&c.pad, 1, 2, 3)})
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(b.X[0].Data()); got != c.want {
			t.Errorf("%+v: got %s, want %s", c.pad, got, c.want)
		}
	}
}

func TestPaddingRefused(t *testing.T) {
	p := &data.Padding{X: []float64{0}}
	for want, list := range map[string][]data.Sample{
		"data: only one of the samples 0 and 1 has a padding: want it for all samples of a batch or none": {sequence(p, 1), sequence(nil, 1, 2)},
		"data: sample 1, input 1: shape (2), want (1) as in the batch's first (sample 0)":                 {sequence(p, 1), sequence(p, 1, 2)},
		"data: sample 1, input 0: shape (2), want (1) as in the batch's first (sample 0)":                 {sequence(nil, 1), sequence(nil, 1, 2)},
		"data: sample 1, target 0: shape (2), want (1) as in the batch's first (sample 0)":                {sequence(&data.Padding{X: []float64{0, 0}}, 1), sequence(&data.Padding{X: []float64{0, 0}}, 1, 2)},
	} {
		if _, err := data.Collate(list); err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

package cli

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/train/data"
	"gorgonia.org/tensor"
)

// metaScaling is the key under which a model says how numbers that are not images were prepared.
const metaScaling = "graft.numbers"

// scaling makes (range·x − mean)/std of numbers; mean and std have one value, or one for each place along a sample's first axis.
type scaling struct {
	White float64   `json:"range,omitempty"` // 0 is 1
	Mean  []float64 `json:"mean,omitempty"`
	Std   []float64 `json:"std,omitempty"`
}

// scaling is that of --mean, --std and --range, of what g's metadata say where none is given; ok is false where neither says anything.
func (p preparing) scaling(g *nn.Graph) (s scaling, ok bool, err error) {
	if g != nil {
		if text, stored := g.Meta()[metaScaling]; stored {
			if err := json.Unmarshal([]byte(text), &s); err != nil {
				return s, false, fmt.Errorf("the model's metadata %s: %w", metaScaling, err)
			}
			ok = true
		}
	}
	for flag, set := range map[string]func(){
		"mean": func() { s.Mean = p.mean }, "std": func() { s.Std = p.std }, "range": func() { s.White = p.white },
	} {
		if p.changed(flag) {
			set()
			ok = true
		}
	}
	for _, v := range s.Std {
		if (data.Preprocess{Std: []float64{v}}).Check() != nil {
			return s, false, fmt.Errorf("--std %v: want numbers that can be divided by", s.Std)
		}
	}
	if (data.Preprocess{Range: s.White}).Check() != nil {
		return s, false, fmt.Errorf("--range %v: want a finite number other than 0", s.White)
	}
	return s, ok, nil
}

// numbers prepares samples that are not images, which describe then stores; flags that are for images alone are refused.
func (d *dataset) numbers(g *nn.Graph, what string, s data.Dataset[data.Sample]) (data.Dataset[data.Sample], error) {
	for _, f := range forPictures {
		if d.changed(f) {
			return nil, notPictures(f, what)
		}
	}
	scale, ok, err := d.scaling(g)
	if err != nil || !ok {
		return s, err
	}
	d.numeric = &scale
	return scale.of(s), nil
}

// describe writes into the model's metadata how its numbers are prepared.
func (s scaling) describe(e *nn.Edit) {
	b, err := json.Marshal(s)
	if err != nil {
		e.Failf("%v", err)
		return
	}
	e.SetMeta(metaScaling, string(b))
}

// of prepares the samples of a set.
func (s scaling) of(set data.Dataset[data.Sample]) data.Dataset[data.Sample] {
	white := s.White
	if white == 0 {
		white = 1
	}
	return data.Scale(set, white, s.Mean, s.Std)
}

// scaled prepares the numbers that a source gives for the only input of g as those were that g was trained on.
func (p preparing) scaled(from *sampleSource, path string, g *nn.Graph) (*sampleSource, error) {
	for _, f := range forPictures {
		if p.changed(f) {
			return nil, notPictures(f, path)
		}
	}
	scale, ok, err := p.scaling(g)
	if err != nil || !ok {
		return from, err
	}
	if len(g.Inputs()) != 1 {
		return nil, fmt.Errorf("--mean, --std and --range are for models with one input, this one has %v", ports(g.Inputs()))
	}
	s, name := *from, g.Inputs()[0].Name()
	s.feed = func(ctx context.Context, index []int) (nn.Feed, error) {
		feed, err := from.feed(ctx, index)
		if err != nil {
			return nil, err
		}
		x, is := feed[name].(*tensor.Dense)
		if !is {
			return nil, fmt.Errorf("%s: --mean, --std and --range are for numbers, which input %s does not take", path, name)
		}
		if x, err = scale.batch(x); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		return nn.Feed{name: x}, nil
	}
	return &s, nil
}

// batch prepares an array whose first axis is that of samples.
func (s scaling) batch(x *tensor.Dense) (*tensor.Dense, error) {
	rows, err := data.Tensors(x, nil)
	if err != nil {
		return nil, err
	}
	rows = s.of(rows)
	list := make([]data.Sample, rows.Len())
	for i := range list {
		if list[i], err = rows.At(i, nil); err != nil {
			return nil, err
		}
	}
	b, err := data.Collate(list)
	if err != nil {
		return nil, err
	}
	return b.X[0], nil
}

// numbersOf prepares the array of a file as --mean, --std and --range say; without them it stays as it is.
func (p preparing) numbersOf(file string, x value) (value, error) {
	for _, f := range forPictures {
		if p.changed(f) {
			return nil, notPictures(f, file)
		}
	}
	scale, ok, err := p.scaling(nil)
	if err != nil || !ok {
		return x, err
	}
	d, is := x.(*tensor.Dense)
	if !is {
		return nil, fmt.Errorf("%s: got %s, want an array of numbers for --mean, --std and --range", file, dtype.Describe(x))
	}
	y, err := scale.batch(d)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return y, nil
}

package cli

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/train/data"
	"github.com/graft-ml/graft/train/table"
	"gorgonia.org/tensor"
)

// metaScaling is the metadata key for the scaling of numeric inputs that are not images.
const metaScaling = "graft.numbers"

// scaling maps numbers x to (range·x − mean)/std; mean and std have one value, or one for each index of a sample's first axis.
type scaling struct {
	White float64   `json:"range,omitempty"` // 0: 1
	Mean  []float64 `json:"mean,omitempty"`
	Std   []float64 `json:"std,omitempty"`
}

// scaling returns the scaling of --mean, --std and --range or, if none is set, of g's metadata; ok is false if there is neither.
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

// numbers scales samples that are not images; describe stores the scaling later. Flags that apply to images only are errors.
func (d *dataset) numbers(g *nn.Graph, what string, s data.Dataset[data.Sample]) (data.Dataset[data.Sample], error) {
	for _, f := range forImages {
		if d.changed(f) {
			return nil, notImages(f, what)
		}
	}
	scale, ok, err := d.scaling(g)
	if err != nil || !ok {
		return s, err
	}
	d.numeric = &scale
	return scale.of(s), nil
}

// forColumns checks the flags of preprocessing for a model that does not take images, and data called what: those for images are errors,
// and so are those for numbers where the model encodes its columns itself.
func (p preparing) forColumns(g *nn.Graph, what string) error {
	for _, f := range forImages {
		if p.changed(f) {
			return notImages(f, what)
		}
	}
	if _, own, err := table.ReadMeta(g.Meta()); err != nil || !own {
		return err
	}
	for _, f := range []string{"mean", "std", "range"} {
		if p.changed(f) {
			return fmt.Errorf("--%s: the model scales its columns itself: leave it out", f)
		}
	}
	return nil
}

// describe stores the scaling in the model's metadata.
func (s scaling) describe(e *nn.Edit) {
	b, err := json.Marshal(s)
	if err != nil {
		e.Failf("%v", err)
		return
	}
	e.SetMeta(metaScaling, string(b))
}

// of scales the samples of a set.
func (s scaling) of(set data.Dataset[data.Sample]) data.Dataset[data.Sample] {
	white := s.White
	if white == 0 {
		white = 1
	}
	return data.Scale(set, white, s.Mean, s.Std)
}

// scaled scales the numbers of a source for the only input of g as in training.
func (p preparing) scaled(from *sampleSource, path string, g *nn.Graph) (*sampleSource, error) {
	if err := p.forColumns(g, path); err != nil {
		return nil, err
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

// batch scales an array whose first axis is the batch axis.
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

// numbersOf scales the array of a file by --mean, --std and --range; without them it returns the array unchanged.
func (p preparing) numbersOf(file string, x value) (value, error) {
	for _, f := range forImages {
		if p.changed(f) {
			return nil, notImages(f, file)
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

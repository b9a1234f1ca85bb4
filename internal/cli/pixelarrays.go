package cli

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/train/data"
	"gorgonia.org/tensor"
)

// pixelArray returns the array of an archive that holds images for the model's only input, under the input's name or x: bytes
// [N, height, width], or with an axis of one or three channels before or after the spatial ones. It returns nil if there is none.
func pixelArray(g *nn.Graph, all map[string]*tensor.Dense) *tensor.Dense {
	if !takesImages(g) || !g.Inputs()[0].Type().DType.IsFloat() {
		return nil
	}
	x := all[g.Inputs()[0].Name()]
	if x == nil {
		x = all["x"]
	}
	if x == nil || x.Dtype() != tensor.Uint8 {
		return nil
	}
	few := func(c int) bool { return c == 1 || c == 3 }
	if s := x.Shape(); len(s) != 3 && (len(s) != 4 || !few(s[1]) && !few(s[3])) {
		return nil
	}
	return x
}

// pixels returns the images of an array as samples without targets, scaled to the range 0 to 1.
func pixels(x *tensor.Dense) (data.Dataset[data.Sample], error) {
	none := dtype.New(dtype.Int64, x.Shape()[0])
	s, err := data.Images(x, none)
	if err != nil {
		return nil, err
	}
	return data.Map(s, func(in data.Sample, _ *rand.Rand) (data.Sample, error) { return data.Sample{X: in.X}, nil }), nil
}

// answered is a set that takes its inputs from x and its targets from y, which has the same length.
type answered struct{ x, y data.Dataset[data.Sample] }

func (a answered) Len() int { return a.x.Len() }

func (a answered) At(i int, r *rand.Rand) (data.Sample, error) {
	s, err := a.x.At(i, r)
	if err != nil {
		return s, err
	}
	y, err := a.y.At(i, r)
	s.Y = y.X
	return s, err
}

// pixelSamples returns the images x with the targets y. If the targets refer to positions in the images, augmentation moves no image.
func pixelSamples(path string, x *tensor.Dense, y []*tensor.Dense) (s samples, err error) {
	images, err := pixels(x)
	if err != nil {
		return s, fmt.Errorf("%s: %w", path, err)
	}
	if y[0].Dims() == 0 || y[0].Shape()[0] != images.Len() {
		return s, fmt.Errorf("%s: %d images, targets of shape %v: want one for each", path, images.Len(), []int(y[0].Shape()))
	}
	targets, err := data.Stacked(y, nil)
	if err != nil {
		return s, fmt.Errorf("%s: the targets: %w", path, err)
	}
	s.tensors, s.pixels = answered{images, targets}, true
	s.still = slices.ContainsFunc(y, func(t *tensor.Dense) bool { return t.Dims() > 2 })
	return s, nil
}

// pixelsOf returns the images of an array, preprocessed like those in files.
func (p *prediction) pixelsOf(ctx context.Context, g *nn.Graph, x *tensor.Dense, notes io.Writer) (*sampleSource, error) {
	in := g.Inputs()[0]
	list, err := pixels(x)
	if err != nil {
		return nil, err
	}
	if p.found == nil {
		found, err := p.settle(ctx, g, in.Type(), samples{tensors: list}.some)
		if err != nil {
			return nil, err
		}
		tellFound(notes, found)
		p.found = &found
	}
	prepared := p.found.Prepare(list)
	return &sampleSource{
		n: list.Len(), name: func(i int) string { return fmt.Sprint(i) },
		feed: func(_ context.Context, index []int) (nn.Feed, error) {
			var rows []data.Sample
			for _, i := range index {
				s, err := prepared.At(i, nil)
				if err != nil {
					return nil, err
				}
				rows = append(rows, s)
			}
			b, err := data.Collate(rows)
			if err != nil {
				return nil, err
			}
			return nn.Feed{in.Name(): b.X[0]}, nil
		},
	}, nil
}

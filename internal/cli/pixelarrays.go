package cli

import (
	"context"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/train/data"
	"gorgonia.org/tensor"
)

// pixelArray returns the array of an archive that holds images for the model's only input, under the input's name or x: whole numbers
// from 0 to 255, [N, height, width] or with an axis of one or three channels before or after the spatial ones. Floating-point numbers
// from 0 to 1 or 0 to 255 are images, too, if a flag, the model's metadata or its statistics say how images are preprocessed. The
// result is uint8 or, from 0 to 1, float32; nil if there are no images.
func (p preparing) pixelArray(ctx context.Context, path string, g *nn.Graph, all map[string]*tensor.Dense) (*tensor.Dense, error) {
	if !takesImages(g) || !g.Inputs()[0].Type().DType.IsFloat() {
		return nil, nil
	}
	x := all[g.Inputs()[0].Name()]
	if x == nil {
		x = all["x"]
	}
	few := func(c int) bool { return c == 1 || c == 3 }
	if x == nil || x.Dims() != 3 && (x.Dims() != 4 || !few(x.Shape()[1]) && !few(x.Shape()[3])) {
		return nil, nil
	}
	from := dtype.Of(x.Dtype())
	if from == dtype.Uint8 {
		return x, nil
	}
	if !from.IsInteger() && !from.IsFloat() {
		return nil, nil
	}
	asked := p.changed(forImages...)
	least, most, whole, err := spread(x)
	if err != nil {
		return nil, err
	}
	var images *tensor.Dense
	switch {
	case whole && least >= 0 && most > 1 && most <= 255:
		images, err = dtype.ConvertTo(dtype.Uint8, x)
	case least >= 0 && most <= 1 && from.IsFloat():
		images, err = dtype.ConvertTo(dtype.Float32, x)
	case asked:
		return nil, fmt.Errorf("%s: the numbers are from %.3g to %.3g: want images from 0 to 1, or of whole numbers from 0 to 255; --mean, --std and --range prepare other numbers", path, least, most)
	}
	if err != nil || images == nil || from.IsInteger() || asked {
		return images, err
	}
	if known, err := p.knownFor(ctx, g, images); err != nil || !known {
		return nil, err
	}
	return images, nil
}

// knownFor reports whether the model's metadata, or its statistics on some images, say reliably how images are preprocessed.
func (p preparing) knownFor(ctx context.Context, g *nn.Graph, images *tensor.Dense) (bool, error) {
	if p.changed("mean", "std", "range") || g.Meta()[metaScaling] != "" || images.Shape()[0] == 0 {
		return false, nil
	}
	list, err := pixels(images)
	if err != nil {
		return false, err
	}
	found, err := p.settle(ctx, g, g.Inputs()[0].Type(), samples{tensors: list}.some)
	return err == nil && !found.Guess, ctx.Err()
}

// withChannel returns gray images [N, height, width] as [N, 1, height, width] or [N, height, width, 1] if v takes such; other arrays
// unchanged.
func withChannel(v *nn.Value, x *tensor.Dense) *tensor.Dense {
	t := v.Type()
	if x.Dims() != 3 || t.Rank() != 4 {
		return x
	}
	for _, axis := range []int{1, 3} {
		shape := slices.Insert(slices.Clone([]int(x.Shape())), axis, 1)
		fits := func(k int) bool { return !t.Shape[k].Known() || t.Shape[k].Size == shape[k] }
		if t.Shape[axis].Size == 1 && fits(1) && fits(2) && fits(3) {
			if y, err := dtype.View(x, shape...); err == nil {
				return y
			}
		}
	}
	return x
}

// noteLevels notes that floating-point numbers which look like images are not preprocessed.
func (d *dataset) noteLevels(path string, all map[string]*tensor.Dense) {
	g := d.graph
	if d.changed("mean", "std", "range") || !takesImages(g) || g.Meta()[metaScaling] != "" {
		return
	}
	x := all[g.Inputs()[0].Name()]
	if x == nil {
		x = all["x"]
	}
	if x == nil || !dtype.Of(x.Dtype()).IsFloat() {
		return
	}
	if least, most, whole, err := spread(x); err == nil {
		switch {
		case whole && least == 0 && most > 1 && most <= 255:
			d.note(path, fmt.Sprintf("whole numbers from 0 to %v go into the model as they are; --preset preprocesses them as images", most))
		case least == 0 && most == 1 && !whole:
			d.note(path, "numbers from 0 to 1 go into the model as they are; --preset preprocesses them as images")
		}
	}
}

// crops refuses --crop for images in memory that have the model's size already, and so are not cropped.
func (p preparing) crops(images data.Dataset[data.Sample], by data.Preprocess) error {
	if !p.changed("crop") || p.crop == 1 || images.Len() == 0 {
		return nil
	}
	first, err := images.At(0, nil)
	if err != nil {
		return err
	}
	s, want := first.X[0].Shape(), by.Shape()
	if by.NHWC {
		want = []int{want[2], want[0], want[1]}
	}
	if len(s) == 3 && s[1] == want[1] && s[2] == want[2] {
		return fmt.Errorf("--crop %v: the images are %d×%d, as the model takes them, so nothing is cropped", p.crop, s[1], s[2])
	}
	return nil
}

// spread returns the least and the largest element of d, and whether all are whole.
func spread(d *tensor.Dense) (least, most float64, whole bool, err error) {
	least, most, whole = math.Inf(1), math.Inf(-1), true
	err = eachBlock(d, func(_ int, block []float64) {
		for _, x := range block {
			least, most, whole = min(least, x), max(most, x), whole && x == math.Trunc(x)
		}
	})
	return least, most, whole, err
}

// blockLength is how many elements eachBlock converts at once.
const blockLength = 1 << 15

// eachBlock calls f with the elements of a tensor of numbers, some at a time, which are valid until f returns, and the index of the first: a copy of all would take up to
// eight times the memory of d.
func eachBlock(d *tensor.Dense, f func(at int, block []float64)) error {
	n := d.Shape().TotalSize()
	flat, err := dtype.View(d, n)
	if err != nil {
		return err
	}
	memory := dtype.New(dtype.Float64, min(n, blockLength))
	for at := 0; at < n; at += blockLength {
		from, err := dtype.Rows(flat, at, min(at+blockLength, n))
		if err != nil {
			return err
		}
		to, err := dtype.Rows(memory, 0, from.Shape()[0])
		if err == nil {
			err = dtype.Convert(to, from)
		}
		if err != nil {
			return err
		}
		f(at, dtype.Slice[float64](to))
	}
	return nil
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
	list, err := pixels(x)
	if err != nil {
		return nil, err
	}
	return p.preparedSource(ctx, g, list, notes)
}

// preparedSource returns images from 0 to 1, preprocessed like those in files.
func (p *prediction) preparedSource(ctx context.Context, g *nn.Graph, list data.Dataset[data.Sample], notes io.Writer) (*sampleSource, error) {
	in := g.Inputs()[0]
	if p.found == nil {
		found, err := p.settle(ctx, g, in.Type(), samples{tensors: list}.some)
		if err != nil {
			return nil, err
		}
		tellFound(notes, found)
		p.found = &found
	}
	if err := p.crops(list, p.found.Preprocess); err != nil {
		return nil, err
	}
	prepared := p.found.Prepare(list)
	return &sampleSource{
		n: list.Len(), name: ordinal,
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

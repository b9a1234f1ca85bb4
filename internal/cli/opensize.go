package cli

import (
	"context"
	"fmt"
	"image"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/train/data"
	"gorgonia.org/tensor"
)

const (
	mostWhole  = 512 * 512 // pixels: larger images are scaled to the usual size, even if the model takes any
	mostSmall  = 64        // pixels each way: smaller images of one size are classified without scaling,
	leastMap   = 4         // if the smallest maps of features have this many elements each way
	mostStride = 64        // of a network that halves its input again and again
)

// imageSize chooses the size of the images of s for a model that leaves it open.
func (d *dataset) imageSize(ctx context.Context, g *nn.Graph, s *samples) error {
	d.uncropped = s.masks != nil || s.pairs != nil
	note, err := d.openSize(ctx, g, s.files())
	if note != "" {
		d.notes = append(d.notes, note)
	}
	return err
}

// openSize chooses the size of images for a model that leaves it open: that of the files, if they share one and the
// network can take it, or the next larger multiple of its strides. It returns a line about the choice, empty if there was none.
func (p *preparing) openSize(ctx context.Context, g *nn.Graph, files []string) (note string, err error) {
	t := g.Inputs()[0].Type()
	if !sizeOpen(t) {
		return "", nil
	}
	if p.size != "" {
		return "", p.sizeFits(ctx, g, t)
	}
	stored, _, err := data.ReadMeta(g.Meta())
	if err != nil || stored.Size > 0 {
		return "", err
	}
	size, err := commonSize(files)
	switch {
	case err != nil || size == image.Point{}:
		return "", nil // an image that cannot be read is reported later
	case p.uncropped && size.X*size.Y > mostWhole:
		return fmt.Sprintf("images: all of %d×%d pixels, scaled to 224×224; --size takes another size", size.Y, size.X), nil
	case !p.uncropped && max(size.X, size.Y) > mostSmall:
		return "", nil
	}
	fit, stride, err := fitting(ctx, g, t, size)
	switch {
	case err != nil && p.uncropped:
		return "", fmt.Errorf("the images are all of %d×%d pixels, which the model cannot take, nor the next multiples of 2 to %d: %w; --size takes another size", size.Y, size.X, mostStride, err)
	case err != nil, !p.uncropped && (stride > 1 || !hasMaps(ctx, g, t, fit)):
		return "", nil // the usual size
	}
	p.natural = fit
	note = fmt.Sprintf("images: all of %d×%d pixels, which the model, open in size, takes as they are", size.Y, size.X)
	if fit != size {
		note = fmt.Sprintf("images: all of %d×%d pixels, scaled to %d×%d: the network's strides take multiples of %d", size.Y, size.X, fit.Y, fit.X, stride)
	}
	return note + "; --size takes another size", nil
}

// sizeFits returns an error if the model cannot take images of --size.
func (p *preparing) sizeFits(ctx context.Context, g *nn.Graph, t op.Type) error {
	base, err := p.base(t)
	if err != nil {
		return err
	}
	size := extent(base)
	_, failed := outputAt(ctx, g, t, size)
	if failed == nil {
		return nil
	}
	fit, stride, err := fitting(ctx, g, t, size)
	if err != nil {
		return fmt.Errorf("--size %s: the model cannot take it: %w", p.size, failed)
	}
	return fmt.Errorf("--size %s: the network's strides take multiples of %d: want --size %dx%d (%w)", p.size, stride, fit.Y, fit.X, failed)
}

// extent returns the width and height of the tensors that p makes.
func extent(p data.Preprocess) image.Point {
	s := p.Shape()
	if p.NHWC {
		return image.Pt(s[1], s[0])
	}
	return image.Pt(s[2], s[1])
}

// sizeOpen reports whether the height and width of an input of images are open.
func sizeOpen(t op.Type) bool {
	p, err := data.Preprocess{Size: 3, Width: 5}.For(t.Sizes())
	return err == nil && extent(p) == image.Pt(5, 3)
}

// fitting returns the smallest size, from the given one on, that the network can take without changing the ratio of the
// sizes of its input and output, and the number of which it is a multiple: 1, 2, 4 … 64. If the ratio varies with
// the size, as without padding, it is the smallest size that the network can take.
func fitting(ctx context.Context, g *nn.Graph, t op.Type, size image.Point) (fit image.Point, stride int, err error) {
	up := func(k int) image.Point { return image.Pt((size.X+k-1)/k*k, (size.Y+k-1)/k*k) }
	whole := up(mostStride)
	full, unknown := outputAt(ctx, g, t, whole)
	for k := 1; k <= mostStride; k *= 2 {
		at := up(k)
		out, failed := outputAt(ctx, g, t, at)
		switch {
		case failed != nil:
			err = failed
			continue
		case unknown != nil || out.X*whole.X == full.X*at.X && out.Y*whole.Y == full.Y*at.Y:
			return at, k, nil
		case stride == 0:
			fit, stride = at, k
		}
	}
	if stride > 0 {
		err = nil
	}
	return fit, stride, err
}

// outputAt runs the model on a black image of a size, and returns the width and height of its output; those of the
// image if the output is none.
func outputAt(ctx context.Context, g *nn.Graph, t op.Type, size image.Point) (image.Point, error) {
	name := g.Outputs()[0].Name()
	out, err := evalAt(ctx, g, t, size, name)
	if err != nil {
		return image.Point{}, err
	}
	if s := out[name].Shape(); len(s) == 4 {
		return image.Pt(s[3], s[2]), nil
	}
	return size, nil
}

// hasMaps reports whether all layers with weights that make maps of features of an image of a size, such as convolutions, make
// maps of at least leastMap by leastMap: networks for large images, which halve them five times, leave a single element of a small one.
func hasMaps(ctx context.Context, g *nn.Graph, t op.Type, size image.Point) bool {
	var names []string
	for _, r := range g.Summary().Rows {
		if r.Params > 0 && r.MACs > 0 {
			names = append(names, r.Outputs[0])
		}
	}
	if len(names) == 0 {
		return true
	}
	maps, err := evalAt(ctx, g, t, size, names...)
	if err != nil {
		return false
	}
	for _, d := range maps {
		if s := d.Shape(); len(s) == 4 && min(s[2], s[3]) < leastMap {
			return false
		}
	}
	return true
}

// evalAt computes values for a black image of a size.
func evalAt(ctx context.Context, g *nn.Graph, t op.Type, size image.Point, names ...string) (nn.Feed, error) {
	base, err := data.Preprocess{Size: size.Y, Width: size.X}.For(t.Sizes())
	if err != nil {
		return nil, err
	}
	batch := 1
	if n, fixed := fixedBatch(g); fixed {
		batch = n
	}
	x := tensor.New(tensor.WithShape(append([]int{batch}, base.Shape()...)...), tensor.Of(tensor.Float32))
	fed, err := dtype.ConvertTo(t.DType, x)
	if err != nil {
		return nil, err
	}
	return g.Eval(ctx, nn.Feed{g.Inputs()[0].Name(): fed}, names...)
}

// files returns the paths of the images.
func (s samples) files() (paths []string) {
	switch {
	case s.folders != nil:
		for _, i := range s.folders.Items {
			paths = append(paths, i.Path)
		}
	case s.masks != nil:
		for _, i := range s.masks.Items {
			paths = append(paths, i.Image)
		}
	case s.pairs != nil:
		for _, pair := range s.pairs.of {
			paths = append(paths, pair[0])
		}
	case s.tags != nil:
		for _, i := range s.tags.Items {
			paths = append(paths, i.Path)
		}
	}
	return paths
}

// commonSize returns the size that all image files share, zero if they do not.
func commonSize(paths []string) (size image.Point, err error) {
	for i, path := range paths {
		at, err := data.ImageSize(path)
		if err != nil {
			return image.Point{}, err
		}
		if i > 0 && at != size {
			return image.Point{}, nil
		}
		size = at
	}
	return size, nil
}

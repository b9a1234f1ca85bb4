package cli

import (
	"context"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"io"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/std"
	"github.com/graft-ml/graft/onnxio"
	"github.com/graft-ml/graft/train"
	"github.com/graft-ml/graft/train/data"
	"golang.org/x/image/draw"
	"gorgonia.org/tensor"
)

// draw writes the PNG files of an answer: the mask or image itself, and the map of --explain.
func (p *prediction) draw(ctx context.Context, a *answerer, s *sampleSource, i int, x *answer) (err error) {
	if x.files = map[string]string{}; x.image != nil {
		if s.size != nil {
			if x.size, err = s.size(i); err != nil {
				return err
			}
		}
		img, err := a.image(x.image, a.drawnSize(x.image, x.size))
		if err != nil {
			return err
		}
		if x.files[a.kind], err = p.file(s.name(i), a.kind, img); err != nil {
			return err
		}
	}
	if p.explain == "" {
		return nil
	}
	feed, err := s.feed(ctx, []int{i})
	if err != nil {
		return err
	}
	img, err := a.explained(ctx, feed, *x, p.explain)
	if err == nil {
		var prep data.Preprocess
		if prep, err = data.Guess(a.g.Inputs()[0].Type().Sizes()); err == nil && p.found != nil {
			prep = p.found.Preprocess
		} else {
			prep.Mean, prep.Std = nil, nil
		}
		img, err = beside(feed[a.g.Inputs()[0].Name()].(*tensor.Dense), prep, img)
	}
	if err != nil {
		return fmt.Errorf("--explain %s: %w", p.explain, err)
	}
	x.files["map"], err = p.file(s.name(i), p.explain, img)
	return err
}

// file writes an image of a sample into the folder of --output.
func (p *prediction) file(sample, what string, img image.Image) (string, error) {
	name := strings.Trim(strings.NewReplacer("/", "_", `\`, "_", ":", "_").Replace(filepath.ToSlash(filepath.Clean(sample))), "._")
	if p.written == nil {
		p.written = map[string]fileNames{}
	}
	if p.written[what] == nil {
		p.written[what] = fileNames{}
	}
	path := filepath.Join(p.output, fmt.Sprintf("%s.%s.png", p.written[what].of(strings.TrimSuffix(name, filepath.Ext(name))), what))
	return path, onnxio.WriteFile(path, func(w io.Writer) error { return png.Encode(w, img) })
}

// drawnSize returns the size of the image to make from a row [1, C, H, W]: for a mask the size of the input image, zero if it
// is not a file; otherwise as many times that size as the model's output is larger than its input. Without an input image,
// or if the model's own input has no known size, it is the size of the row.
func (a *answerer) drawnSize(row *tensor.Dense, input image.Point) image.Point {
	if row.Dims() != 4 {
		return image.Point{} // reported by image
	}
	own := image.Pt(row.Shape()[3], row.Shape()[2])
	switch {
	case input == image.Point{}:
		return own
	case a.kind == "mask":
		return input
	case a.fed == image.Point{}:
		return own
	}
	times := func(size, out, in int) int { return max(1, int(math.Round(float64(size)*float64(out)/float64(in)))) }
	return image.Pt(times(input.X, own.X, a.fed.X), times(input.Y, own.Y, a.fed.Y))
}

// image makes an image of a size from a row [1, C, H, W], which is scaled bilinearly: for a mask the class of each pixel, in the
// colours of a palette; otherwise the values, in the range 0 to 1, or 0 to 255 if some are above 1.5.
func (a *answerer) image(row *tensor.Dense, size image.Point) (image.Image, error) {
	if row.Dims() != 4 {
		return nil, fmt.Errorf("the output %v is no image: want [N, channels, height, width]", row.Shape())
	}
	c := row.Shape()[1]
	v, err := dtype.Float64s(row)
	if err != nil {
		return nil, err
	}
	scaled := resampled(v, row.Shape()[2], row.Shape()[3], size)
	if a.kind == "mask" {
		return mask(scaled, c, size, a.border(v)), nil
	}
	scale := 255.0
	for _, x := range v {
		if x > 1.5 {
			scale = 1
		}
	}
	img := image.NewRGBA(image.Rectangle{Max: size})
	for i := range size.X * size.Y {
		y, x := i/size.X, i%size.X
		var p [3]uint8
		for k := range p {
			p[k] = uint8(math.Round(min(255, max(0, scale*scaled.at(min(k, c-1), y, x)))))
		}
		img.SetRGBA(x, y, color.RGBA{p[0], p[1], p[2], 255})
	}
	return img, nil
}

// border returns the threshold above which a pixel with a single score is of class 1: 0.5 for probabilities, 0 for logits, which
// are recognized by the model's metadata or by scores outside 0 to 1.
func (a *answerer) border(v []float64) float64 {
	logits := a.g.Meta()[metaTask] == "mask" && a.logits
	for _, x := range v {
		logits = logits || x < 0 || x > 1
	}
	if logits {
		return 0
	}
	return 0.5
}

// mask returns the class of each pixel: the one with the highest score or, of a single score, whether it exceeds border.
func mask(scores resampler, c int, size image.Point, border float64) image.Image {
	img := image.NewPaletted(image.Rectangle{Max: size}, palette(max(2, c)))
	for i := range size.X * size.Y {
		y, x := i/size.X, i%size.X
		best, most := 0, scores.at(0, y, x)
		if c == 1 && most > border {
			best = 1
		}
		for k := 1; k < c; k++ {
			if score := scores.at(k, y, x); score > most {
				best, most = k, score
			}
		}
		img.Pix[i] = uint8(min(best, 255))
	}
	return img
}

// palette returns the colours of n classes, the first black: the bits of the index are distributed over the channels, starting with
// the most significant bit of each channel.
func palette(n int) color.Palette {
	list := make(color.Palette, min(n, 256))
	for i := range list {
		var c [3]uint8
		for bit, id := 7, i; id > 0; bit, id = bit-1, id>>3 {
			for k := range c {
				c[k] |= uint8(id>>k&1) << bit
			}
		}
		list[i] = color.RGBA{c[0], c[1], c[2], 255}
	}
	return list
}

// explained returns a saliency map of the largest score, dark to bright: the gradient with respect to the pixels, or Grad-CAM. If the
// model ends in probabilities, the score is the logit before them.
func (a *answerer) explained(ctx context.Context, feed nn.Feed, x answer, how string) (image.Image, error) {
	if !takesImages(a.g) {
		return nil, fmt.Errorf("the model does not take images: its inputs are %v", ports(a.g.Inputs()))
	}
	g, _ := a.g.Fork()
	var score string
	err := g.Edit(func(e *nn.Edit) {
		logits := train.Logits(e, e.Outputs()[0])
		if e.Err() == nil && a.kind == "yes" && x.top[0].Label == a.label(0) {
			logits = e.Node(op.Plain("Neg"), logits).Out(0) // evidence for the negative class
		}
		if e.Err() != nil {
			return
		}
		n := e.Node(std.ReduceMaxConfig{}, logits)
		if e.Err() == nil {
			n = e.Node(op.Plain("Squeeze"), n.Out(0))
		}
		if e.Err() == nil {
			score = e.New("score")
			e.Output(score, n.Out(0))
		}
	})
	if err != nil {
		return nil, err
	}
	in := g.Inputs()[0]
	size := feed[in.Name()].Shape()
	p, err := data.Guess(in.Type().Sizes())
	if err != nil {
		return nil, err
	}
	if how == "gradients" {
		grads, err := g.Grad(ctx, feed, score, in.Name())
		if err != nil {
			return nil, err
		}
		return pixelMap(grads[in.Name()].(*tensor.Dense), p.NHWC)
	}
	if p.NHWC {
		return cam(ctx, g, feed, score, size[1:3])
	}
	return cam(ctx, g, feed, score, size[2:4])
}

// cam computes Grad-CAM (Selvaraju et al. 2017) over the last feature maps [1, C, h, w] of a model: the positive part of their sum, each
// map weighted by the mean of the score's gradient over it, scaled to the size of the image.
func cam(ctx context.Context, g *nn.Graph, feed nn.Feed, score string, size []int) (image.Image, error) {
	var names []string
	for n := range g.Nodes() {
		if t := n.Out(0).Type(); t.Rank() == 4 && t.DType.IsFloat() && t.Shape[1].Size != 1 {
			names = append(names, n.Out(0).Name())
		}
	}
	for _, at := range slices.Backward(names) {
		out, err := g.Eval(ctx, feed, at)
		if err != nil {
			return nil, err
		}
		maps, ok := out[at].(*tensor.Dense)
		if !ok || maps.Shape()[2] < 2 || maps.Shape()[3] < 2 {
			continue
		}
		grads, err := g.Grad(ctx, nn.Feed{at: maps}, score, at)
		if err != nil {
			continue // the score depends on more than this value: an earlier one
		}
		return weighed(maps, grads[at].(*tensor.Dense), size)
	}
	return nil, fmt.Errorf("--explain cam needs feature maps [N, channels, height, width] that the output depends on, and the model has none: want --explain gradients")
}

func weighed(maps, grads *tensor.Dense, size []int) (image.Image, error) {
	x, err := dtype.Float64s(maps)
	if err != nil {
		return nil, err
	}
	d, err := dtype.Float64s(grads)
	if err != nil {
		return nil, err
	}
	c, h, w := maps.Shape()[1], maps.Shape()[2], maps.Shape()[3]
	sum := make([]float64, h*w)
	for k := range c {
		weight := 0.0
		for _, v := range d[k*h*w : (k+1)*h*w] {
			weight += v
		}
		for i, v := range x[k*h*w : (k+1)*h*w] {
			sum[i] += v * weight / float64(h*w)
		}
	}
	for i := range sum {
		sum[i] = max(0, sum[i])
	}
	small := heat(sum, h, w)
	img := image.NewRGBA(image.Rect(0, 0, size[1], size[0]))
	draw.BiLinear.Scale(img, img.Bounds(), small, small.Bounds(), draw.Src, nil)
	return img, nil
}

// pixelMap returns the largest magnitude of a gradient over the channels of each pixel.
func pixelMap(d *tensor.Dense, last bool) (image.Image, error) {
	v, err := dtype.Float64s(d)
	if err != nil {
		return nil, err
	}
	s := d.Shape()
	c, h, w := s[1], s[2], s[3]
	if last {
		h, w, c = s[1], s[2], s[3]
	}
	most := make([]float64, h*w)
	for i := range h * w {
		for k := range c {
			at := k*h*w + i
			if last {
				at = i*c + k
			}
			most[i] = max(most[i], math.Abs(v[at]))
		}
	}
	return heat(most, h, w), nil
}

// heat draws values as colours from black (0) through red and yellow to white (the largest value).
func heat(v []float64, h, w int) *image.RGBA {
	most := slices.Max(v)
	img := image.NewRGBA(image.Rect(0, 0, w, h))
	for i, x := range v {
		t := 0.0
		if most > 0 {
			t = 3 * x / most
		}
		ramp := func(from float64) uint8 { return uint8(255 * min(1, max(0, t-from))) }
		img.SetRGBA(i%w, i/w, color.RGBA{ramp(0), ramp(1), ramp(2), 255})
	}
	return img
}

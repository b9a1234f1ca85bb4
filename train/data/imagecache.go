package data

import (
	"image"
	"math"
	"math/rand/v2"
	"sync"

	"github.com/graft-ml/graft/internal/budget"
	"golang.org/x/image/draw"
	"gorgonia.org/tensor"
)

// imageCache keeps decoded images in memory, for one Preprocess. Images for evaluation are kept scaled and cropped; images for
// Augment are reduced to the resolution that the smallest crop needs. A nil cache neither keeps nor reduces images.
type imageCache struct {
	mu   sync.Mutex
	left int64 // bytes
	kept map[imageKey]*image.RGBA
}

// imageKey is an image file, and whether it is cached for evaluation.
type imageKey struct {
	path   string
	center bool
}

// newImageCache returns a cache of at most the given number of bytes; nil for 0.
func newImageCache(bytes int64) *imageCache {
	if bytes <= 0 {
		return nil
	}
	return &imageCache{left: bytes, kept: map[imageKey]*image.RGBA{}}
}

// images returns a set of files prepared by p, with or without augmentation.
func (c *imageCache) images(p Preprocess, files []ImageFile, augment bool) Dataset[Sample] {
	return Map(Of(files...), func(i ImageFile, r *rand.Rand) (Sample, error) {
		if !augment {
			r = nil
		}
		return p.sample(i, r, c)
	})
}

// get returns the pixels of a file: with center those of the tensor, otherwise those that Augment crops.
func (c *imageCache) get(p Preprocess, path string, center bool) (*image.RGBA, error) {
	key := imageKey{path, center}
	c.mu.Lock()
	img := c.kept[key]
	c.mu.Unlock()
	if img != nil {
		return img, nil
	}
	from, release, err := decode(path)
	if err != nil {
		return nil, err
	}
	defer release()
	if center {
		img = compact(p.centre(from))
	} else {
		img = p.reduced(from)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	size := int64(len(img.Pix))
	if c.kept[key] != nil || size > c.left {
		return img, nil
	}
	if budget.Left() < 2*size || budget.Keep(img, size) != nil { // the rest is for what needs it
		c.left = 0
		return img, nil
	}
	c.kept[key] = img
	c.left -= size
	return img, nil
}

// compact copies the visible part of an image, so that the memory of the rest can be freed.
func compact(img *image.RGBA) *image.RGBA {
	b := img.Bounds()
	out := image.NewRGBA(image.Rect(0, 0, b.Dx(), b.Dy()))
	draw.Draw(out, out.Bounds(), img, b.Min, draw.Src)
	return out
}

// reduced scales a large image down to the size at which a square crop of the smallest area is as large as the tensor.
func (p Preprocess) reduced(img image.Image) *image.RGBA {
	h, w := p.geometry()
	b := img.Bounds()
	scale := max(float64(h)/float64(b.Dy()), float64(w)/float64(b.Dx())) / math.Sqrt(p.least())
	if scale >= 1 {
		out := image.NewRGBA(image.Rect(0, 0, b.Dx(), b.Dy()))
		draw.Draw(out, out.Bounds(), img, b.Min, draw.Src)
		return out
	}
	out := image.NewRGBA(image.Rect(0, 0, int(math.Ceil(scale*float64(b.Dx()))), int(math.Ceil(scale*float64(b.Dy())))))
	draw.BiLinear.Scale(out, out.Bounds(), img, b, draw.Src, nil)
	return out
}

// sample reads an image through a cache, which may be nil: like Augment, or like Eval if r is nil.
func (p Preprocess) sample(i ImageFile, r *rand.Rand, c *imageCache) (Sample, error) {
	if err := p.Check(); err != nil {
		return Sample{}, err
	}
	center := r == nil || p.Policy == NoAugmentation
	var img image.Image
	var err error
	if c == nil {
		var release func()
		if img, release, err = decode(i.Path); err == nil {
			defer release()
		}
	} else {
		img, err = c.get(p, i.Path, center)
	}
	if err != nil {
		return Sample{}, err
	}
	var s Sample
	switch {
	case center && c != nil:
		s.X = []*tensor.Dense{p.numbers(img.(*image.RGBA), false)}
	case center:
		s.X = []*tensor.Dense{p.numbers(p.centre(img), false)}
	default:
		part := p.part(img, r)
		mirror := !p.NoFlip && r.IntN(2) == 1
		p.Policy.repaint(part, r)
		s.X = []*tensor.Dense{p.numbers(part, mirror)}
	}
	if i.Class >= 0 {
		s.Y = []*tensor.Dense{label(i.Class)}
	}
	return s, nil
}

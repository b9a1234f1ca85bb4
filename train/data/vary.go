package data

import (
	"image"
	"math"
	"math/rand/v2"

	"gorgonia.org/tensor"
)

// Vary is Prepare with augmentation: each image is rotated by up to 10°, scaled by up to a tenth, shifted by up to a
// twelfth of its size in each direction and, unless NoFlip is set, flipped horizontally with probability ½. Pixels from
// outside repeat the border. Policy scales that and adds to it.
func (p Preprocess) Vary(s Dataset[Sample]) Dataset[Sample] {
	return mirrored(p, func(p Preprocess) Dataset[Sample] { return p.vary(s) })
}

func (p Preprocess) vary(s Dataset[Sample]) Dataset[Sample] {
	return p.Prepare(Map(s, func(in Sample, r *rand.Rand) (Sample, error) {
		if r == nil || p.Policy == NoAugmentation || len(in.X) != 1 || in.X[0].Dims() != 3 || in.X[0].Dtype() != tensor.Float32 || !contiguous(in.X[0]) {
			return in, nil // Prepare reports the error
		}
		x := p.varied(in.X[0], r)
		if c := x.Shape()[0]; p.Policy.repaints() && (c == 1 || c == 3) {
			img := asImage(x)
			p.Policy.repaint(img, r)
			x = fromImage(img, c)
		}
		return Sample{X: []*tensor.Dense{x}, Y: in.Y}, nil
	}))
}

// varied resamples an image [channels, height, width] with a random rotation, scaling and shift.
func (p Preprocess) varied(x *tensor.Dense, r *rand.Rand) *tensor.Dense {
	c, h, w := x.Shape()[0], x.Shape()[1], x.Shape()[2]
	strength := p.Policy.strength()
	within := func(most float64) float64 { return strength * most * (2*r.Float64() - 1) }
	angle, scale := within(math.Pi/18), math.Exp(within(0.1))
	if p.Policy == Trivial {
		angle, scale = 0, 1
	}
	dy, dx := within(float64(h)/12), within(float64(w)/12)
	cos, sin := math.Cos(angle)/scale, math.Sin(angle)/scale
	mirror := 1.0
	if !p.NoFlip && r.IntN(2) == 1 {
		mirror = -1
	}
	v, out := x.Float32s(), make([]float32, c*h*w)
	my, mx := float64(h-1)/2, float64(w-1)/2
	for i := range h {
		for j := range w {
			a, b := float64(i)-my-dy, mirror*(float64(j)-mx)-dx
			y := min(max(cos*a-sin*b+my, 0), float64(h-1))
			z := min(max(sin*a+cos*b+mx, 0), float64(w-1))
			y0, x0 := int(y), int(z)
			y1, x1 := min(y0+1, h-1), min(x0+1, w-1)
			fy, fx := float32(y-float64(y0)), float32(z-float64(x0))
			for k := range c {
				plane := v[k*h*w:]
				top := plane[y0*w+x0]*(1-fx) + plane[y0*w+x1]*fx
				bottom := plane[y1*w+x0]*(1-fx) + plane[y1*w+x1]*fx
				out[(k*h+i)*w+j] = top*(1-fy) + bottom*fy
			}
		}
	}
	return tensor.New(tensor.WithShape(c, h, w), tensor.WithBacking(out))
}

// fromImage returns an image's first channels as numbers from 0 to 1.
func fromImage(img *image.RGBA, channels int) *tensor.Dense {
	h, w := img.Rect.Dy(), img.Rect.Dx()
	out := make([]float32, channels*h*w)
	eachPixel(img, func(p []byte, x, y int) {
		for k := range channels {
			out[(k*h+y)*w+x] = float32(p[k]) / 255
		}
	})
	return tensor.New(tensor.WithShape(channels, h, w), tensor.WithBacking(out))
}

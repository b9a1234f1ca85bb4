package data

import (
	"image"
	"math"
	"math/rand/v2"
)

// Augmentation is an augmentation policy for images.
type Augmentation string

// The policies. Light, Moderate and Strong flip horizontally unless NoFlip is set, and differ in how much they crop, rotate and shift.
const (
	Moderate       Augmentation = ""        // crops of at least MinArea of the image; image tensors are rotated by up to 10°
	NoAugmentation Augmentation = "none"    // as for evaluation
	Light          Augmentation = "light"   // crops of at least four fifths of the image, a third of the other changes
	Strong         Augmentation = "strong"  // Moderate, and brightness, contrast and colour changed by up to 40 %, a rectangle erased in one of four images
	Trivial        Augmentation = "trivial" // Moderate, and one of TrivialAugment's fourteen operations, which alone rotates tensors
)

// strength returns the factor on rotation, scaling and shifting.
func (a Augmentation) strength() float64 {
	if a == Light {
		return 1.0 / 3
	}
	return 1
}

// least returns the smallest fraction of an image's area that is cropped.
func (p Preprocess) least() float64 {
	switch {
	case p.Policy == Light:
		return max(0.8, p.MinArea)
	case p.MinArea == 0:
		return 0.08
	}
	return p.MinArea
}

// repaints reports whether a policy changes the colours of pixels.
func (a Augmentation) repaints() bool { return a == Strong || a == Trivial }

// repaint applies the colour changes of the policy to an image.
func (a Augmentation) repaint(img *image.RGBA, r *rand.Rand) {
	switch a {
	case Trivial:
		trivial(img, r)
	case Strong:
		jitter(img, r)
		if r.IntN(4) == 0 {
			erase(img, r)
		}
	}
}

// jitter changes brightness, contrast and saturation by up to 40 %, each drawn independently.
func jitter(img *image.RGBA, r *rand.Rand) {
	for _, name := range []string{"Brightness", "Contrast", "Color"} {
		m := 0.4 * (2*r.Float64() - 1)
		for _, c := range changes {
			if c.name == name {
				c.f(img, m)
			}
		}
	}
}

// erase fills a random rectangle, 1/50 to 1/3 of the image's area, with the image's mean colour (Zhong et al., 2020).
func erase(img *image.RGBA, r *rand.Rand) {
	w, h := img.Rect.Dx(), img.Rect.Dy()
	area := (0.02 + 0.31*r.Float64()) * float64(w*h)
	aspect := math.Exp((2*r.Float64() - 1) * math.Log(3))
	ew, eh := int(math.Round(math.Sqrt(area*aspect))), int(math.Round(math.Sqrt(area/aspect)))
	if ew < 1 || eh < 1 || ew > w || eh > h {
		return
	}
	var sum [3]float64
	eachPixel(img, func(p []byte, _, _ int) {
		for k, v := range p {
			sum[k] += float64(v)
		}
	})
	left, top := r.IntN(w-ew+1), r.IntN(h-eh+1)
	eachPixel(img, func(p []byte, x, y int) {
		if x >= left && x < left+ew && y >= top && y < top+eh {
			for k := range p {
				p[k] = byte(sum[k] / float64(w*h))
			}
		}
	})
}

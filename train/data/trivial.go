package data

import (
	"image"
	"math"
	"math/rand/v2"
)

// change is one of TrivialAugment's operations on an image.
type change struct {
	name string
	most float64 // the magnitude is drawn from 31 even steps of 0 … most
	sign bool    // the sign is random, too
	f    func(img *image.RGBA, m float64)
}

// changes are the operations of TrivialAugment (wide), with the magnitudes of torchvision.transforms.TrivialAugmentWide.
// The magnitude of Translate is a fraction of 32 pixels, see far; of Posterize the number of bits removed; of Solarize 255 minus
// the threshold.
var changes = []change{
	{"Nothing", 0, false, func(*image.RGBA, float64) {}},
	{"ShearX", 0.99, true, func(img *image.RGBA, m float64) {
		warp(img, func(x, y float64) (float64, float64) { return x + m*y, y })
	}},
	{"ShearY", 0.99, true, func(img *image.RGBA, m float64) {
		warp(img, func(x, y float64) (float64, float64) { return x, y + m*x })
	}},
	{"TranslateX", 1, true, func(img *image.RGBA, m float64) {
		d := math.Trunc(m * far(img.Rect.Dx()))
		warp(img, func(x, y float64) (float64, float64) { return x - d, y })
	}},
	{"TranslateY", 1, true, func(img *image.RGBA, m float64) {
		d := math.Trunc(m * far(img.Rect.Dy()))
		warp(img, func(x, y float64) (float64, float64) { return x, y - d })
	}},
	{"Rotate", 135, true, turn},
	{"Brightness", 0.99, true, func(img *image.RGBA, m float64) {
		blend(img, 1+m, func(int, int, int) float64 { return 0 })
	}},
	{"Color", 0.99, true, func(img *image.RGBA, m float64) {
		blend(img, 1+m, func(x, y, _ int) float64 { return luminance(img, x, y) })
	}},
	{"Contrast", 0.99, true, contrast},
	{"Sharpness", 0.99, true, sharpen},
	{"Posterize", 6, false, func(img *image.RGBA, m float64) {
		keep := byte(0xff) << int(math.RoundToEven(m))
		eachByte(img, func(v byte) byte { return v & keep })
	}},
	{"Solarize", 255, false, func(img *image.RGBA, m float64) {
		eachByte(img, func(v byte) byte {
			if float64(v) >= 255-m {
				return 255 - v
			}
			return v
		})
	}},
	{"AutoContrast", 0, false, autoContrast},
	{"Equalize", 0, false, equalize},
}

// far returns the largest shift of an image of the given size: 32 pixels, or a third of small images.
func far(size int) float64 { return min(32, float64(size)/3) }

// trivial applies one operation at one magnitude, both uniformly random, to an image (Müller and Hutter, 2021).
func trivial(img *image.RGBA, r *rand.Rand) {
	c := changes[r.IntN(len(changes))]
	m := c.most * float64(r.IntN(31)) / 30
	if c.sign && r.IntN(2) == 1 {
		m = -m
	}
	c.f(img, m)
}

// warp sets each pixel to the pixel nearest to the source position that from returns, or to black if that is outside. Coordinates
// are those of pixel centers, from the upper left corner.
func warp(img *image.RGBA, from func(x, y float64) (float64, float64)) {
	w, h := img.Rect.Dx(), img.Rect.Dy()
	old := cloned(img)
	for y := range h {
		for x := range w {
			fx, fy := from(float64(x)+0.5, float64(y)+0.5)
			i, j := math.RoundToEven(fx-0.5), math.RoundToEven(fy-0.5)
			to := img.Pix[y*img.Stride+4*x:][:3]
			if i < 0 || j < 0 || i >= float64(w) || j >= float64(h) {
				clear(to)
				continue
			}
			copy(to, old[int(j)*img.Stride+4*int(i):][:3])
		}
	}
}

// turn rotates an image around its center, by degrees counterclockwise.
func turn(img *image.RGBA, degrees float64) {
	sin, cos := math.Sincos(degrees * math.Pi / 180)
	mx, my := float64(img.Rect.Dx())/2, float64(img.Rect.Dy())/2
	warp(img, func(x, y float64) (float64, float64) {
		x, y = x-mx, y-my
		return cos*x - sin*y + mx, sin*x + cos*y + my
	})
}

func cloned(img *image.RGBA) []byte { return append([]byte(nil), img.Pix...) }

// eachByte applies f to the bytes of the three channels.
func eachByte(img *image.RGBA, f func(byte) byte) {
	eachPixel(img, func(p []byte, _, _ int) {
		for k := range p {
			p[k] = f(p[k])
		}
	})
}

// eachPixel calls f with the bytes of each pixel and its position.
func eachPixel(img *image.RGBA, f func(p []byte, x, y int)) {
	for y := range img.Rect.Dy() {
		for x := range img.Rect.Dx() {
			f(img.Pix[y*img.Stride+4*x:][:3], x, y)
		}
	}
}

// blend computes share·image + (1 − share)·other, clipped to 0 … 255, in place. Pixels after the current one are unchanged when other
// is called.
func blend(img *image.RGBA, share float64, other func(x, y, channel int) float64) {
	eachPixel(img, func(p []byte, x, y int) {
		var with [3]float64
		for k := range p {
			with[k] = other(x, y, k)
		}
		for k, v := range p {
			p[k] = byte(min(255, max(0, float32(share)*float32(v)+float32(1-share)*float32(with[k]))))
		}
	})
}

// luminance returns the gray level of a pixel, an integer.
func luminance(img *image.RGBA, x, y int) float64 {
	p := img.Pix[y*img.Stride+4*x:][:3]
	if p[0] == p[1] && p[1] == p[2] {
		return float64(p[0])
	}
	return math.Trunc(0.2989*float64(p[0]) + 0.587*float64(p[1]) + 0.114*float64(p[2]))
}

// contrast blends with the mean gray level.
func contrast(img *image.RGBA, m float64) {
	sum := 0.0
	eachPixel(img, func(_ []byte, x, y int) { sum += luminance(img, x, y) })
	mean := sum / float64(max(1, img.Rect.Dx()*img.Rect.Dy()))
	blend(img, 1+m, func(int, int, int) float64 { return mean })
}

// sharpen blends with the image smoothed over 3×3 pixels, in which the center has weight 5; the border is unchanged.
func sharpen(img *image.RGBA, m float64) {
	w, h := img.Rect.Dx(), img.Rect.Dy()
	if w <= 2 || h <= 2 {
		return
	}
	old := cloned(img)
	at := func(x, y, k int) float64 { return float64(old[y*img.Stride+4*x+k]) }
	blend(img, 1+m, func(x, y, k int) float64 {
		if x == 0 || y == 0 || x == w-1 || y == h-1 {
			return at(x, y, k)
		}
		sum := 4 * at(x, y, k)
		for i := -1; i <= 1; i++ {
			for j := -1; j <= 1; j++ {
				sum += at(x+i, y+j, k)
			}
		}
		return math.RoundToEven(sum / 13)
	})
}

// tabled maps each channel by a table computed from the channel's histogram.
func tabled(img *image.RGBA, table func(count *[256]int) [256]byte) {
	var counts [3][256]int
	eachPixel(img, func(p []byte, _, _ int) {
		for k, v := range p {
			counts[k][v]++
		}
	})
	var to [3][256]byte
	for k := range to {
		to[k] = table(&counts[k])
	}
	eachPixel(img, func(p []byte, _, _ int) {
		for k, v := range p {
			p[k] = to[k][v]
		}
	})
}

// autoContrast stretches each channel to 0 … 255.
func autoContrast(img *image.RGBA, _ float64) {
	tabled(img, func(count *[256]int) (to [256]byte) {
		low, high := 255, 0
		for v, n := range count {
			if n > 0 {
				low, high = min(low, v), max(high, v)
			}
		}
		for v := range to {
			if to[v] = byte(v); high > low {
				to[v] = byte(min(255, max(0, float32(v-low)*(255/float32(high-low)))))
			}
		}
		return to
	})
}

// equalize gives each channel an even histogram.
func equalize(img *image.RGBA, _ float64) {
	tabled(img, func(count *[256]int) (to [256]byte) {
		all, last := 0, 0
		for _, n := range count {
			if all += n; n > 0 {
				last = n
			}
		}
		step := (all - last) / 255
		below := 0
		for v := range to {
			to[v] = byte(v)
			if step > 0 {
				to[v] = byte(min(255, (below+step/2)/step))
				if v == 0 {
					to[v] = 0
				}
			}
			below += count[v]
		}
		return to
	})
}

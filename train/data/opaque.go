package data

import (
	"image"
	"image/color"
)

// opaque returns an image with the colours of img and without its transparency, as PIL's convert("RGB") makes it. If own, img may be changed.
func opaque(img image.Image, own bool) image.Image {
	if o, ok := img.(interface{ Opaque() bool }); ok && o.Opaque() {
		return img
	}
	switch m := img.(type) {
	case *image.Paletted:
		c := *m
		c.Palette = make(color.Palette, len(m.Palette))
		for i, x := range m.Palette {
			c.Palette[i] = solid(x)
		}
		return &c
	case *image.NYCbCrA:
		return &m.YCbCr
	case *image.NRGBA:
		if own {
			fill(m.Pix, 3, 4, 1)
			return m
		}
	case *image.NRGBA64:
		if own {
			fill(m.Pix, 6, 8, 2)
			return m
		}
	}
	b := img.Bounds()
	out := image.NewNRGBA(b)
	for y := b.Min.Y; y < b.Max.Y; y++ {
		for x := b.Min.X; x < b.Max.X; x++ {
			out.SetNRGBA(x, y, solid(img.At(x, y)))
		}
	}
	return out
}

func solid(c color.Color) color.NRGBA {
	n := color.NRGBAModel.Convert(c).(color.NRGBA)
	n.A = 255
	return n
}

// fill sets the size bytes of alpha in each pixel of step bytes.
func fill(pix []uint8, at, step, size int) {
	for ; at < len(pix); at += step {
		for k := range min(size, len(pix)-at) {
			pix[at+k] = 255
		}
	}
}

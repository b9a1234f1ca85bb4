package imagefile

import (
	"image"
	"io"
)

// plane is a component of an image. A sample stands for across×down pixels.
type plane struct {
	samples       []uint8
	stride        int
	width, height int // in samples
	across, down  int
}

// coding is how a file format brings chroma to the size of the image, and converts it to red, green and blue.
type coding struct {
	// line writes line y of a plane at the width of the image. sums has one element for each sample of a line.
	line func(p *plane, y int, out []uint8, sums []int32)
	// convert writes the colors of a line, step bytes apart.
	convert func(pix []uint8, step int, a, b, c []uint8)
}

// paint writes three planes as pixels of step bytes. What is behind the third byte of a pixel is not changed.
func (k coding) paint(pix []uint8, step, width, height int, planes *[3]plane) {
	var lines [3][]uint8
	for i := range lines {
		lines[i] = make([]uint8, width)
	}
	sums := make([]int32, width+1)
	for y := range height {
		for i := range planes {
			k.line(&planes[i], y, lines[i], sums)
		}
		k.convert(pix[y*width*step:][:width*step], step, lines[0], lines[1], lines[2])
	}
}

// ratios are the pixels per chroma sample, across and down.
var ratios = map[image.YCbCrSubsampleRatio][2]int{
	image.YCbCrSubsampleRatio444: {1, 1}, image.YCbCrSubsampleRatio422: {2, 1}, image.YCbCrSubsampleRatio420: {2, 2},
	image.YCbCrSubsampleRatio440: {1, 2}, image.YCbCrSubsampleRatio411: {4, 1}, image.YCbCrSubsampleRatio410: {4, 2},
}

// planesOf returns the planes of a decoded image.
func planesOf(m *image.YCbCr) *[3]plane {
	w, h, r := m.Rect.Dx(), m.Rect.Dy(), ratios[m.SubsampleRatio]
	chroma := plane{stride: m.CStride, width: (w + r[0] - 1) / r[0], height: (h + r[1] - 1) / r[1], across: r[0], down: r[1]}
	cb, cr := chroma, chroma
	cb.samples, cr.samples = m.Cb, m.Cr
	return &[3]plane{{m.Y, m.YStride, w, h, 1, 1}, cb, cr}
}

// codingOf returns the planes of an image that Go's package of a format, jpeg or webp, decoded to chroma at a lower resolution, or in the limited
// range of video. What Go converts itself has none.
func codingOf(m image.Image, format string) (coding, *image.YCbCr) {
	full, _ := m.(*image.YCbCr)
	if a, ok := m.(*image.NYCbCrA); ok {
		full = &a.YCbCr
	}
	switch {
	case full == nil || full.Rect.Min != image.Point{}:
	case format == "webp":
		return webpCoding, full
	case format == "jpeg" && full.SubsampleRatio != image.YCbCrSubsampleRatio444:
		return jpegCoding, full
	}
	return coding{}, nil
}

// Colors returns the image that Go's package of a format, as package image names it, decoded from a file, with the pixels that libjpeg, libwebp and libtiff
// give it. Go's packages repeat chroma and take the limited range of WebP for the full one; of a GIF file they return a part, without
// the colors of transparent pixels, and faxes may be negatives. It returns m if that is right; transparency is dropped from what
// it changes.
func Colors(m image.Image, format string, file io.ReaderAt) image.Image {
	switch m := m.(type) {
	case *image.Paletted:
		if format == "gif" {
			return gifImage(m, file)
		}
	case *image.Gray:
		if format == "tiff" {
			return faxImage(m, file)
		}
	}
	k, from := codingOf(m, format)
	if from == nil {
		return m
	}
	out := image.NewRGBA(from.Rect)
	k.paint(out.Pix, 4, from.Rect.Dx(), from.Rect.Dy(), planesOf(from))
	fillAlpha(out.Pix)
	return out
}

// fillAlpha makes pixels of four bytes opaque.
func fillAlpha(pix []uint8) {
	for i := 3; i < len(pix); i += 4 {
		pix[i] = 255
	}
}

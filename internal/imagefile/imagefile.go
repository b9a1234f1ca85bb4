package imagefile

import (
	"bytes"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"io"

	"github.com/graft-ml/graft/internal/budget"
	"golang.org/x/image/bmp"
	"golang.org/x/image/tiff"
	"golang.org/x/image/webp"
)

// RGB is an image of Height rows of Width pixels, three bytes each.
type RGB struct {
	Width, Height int
	Pix           []uint8
}

// maxSide bounds width and height, maxPixels their product: a few bytes of a file claim them.
const (
	maxSide   = 1 << 16
	maxPixels = 1 << 28
)

// format reads one kind of file.
type format struct {
	magic  string // at the beginning, ? for any byte
	size   func(data []byte) (width, height int, err error)
	decode func(data []byte) (*RGB, error)
	unit   int // pixels across and down that are kept together; 0: one
}

var formats = []format{
	{"\xff\xd8", goSize(jpeg.DecodeConfig), decodeJPEG, block},
	{"\x89PNG\r\n\x1a\n", goSize(png.DecodeConfig), goDecode(png.Decode, ""), 0},
	{"BM", goSize(bmp.DecodeConfig), goDecode(bmp.Decode, ""), 0},
	{"II*\x00", goSize(tiff.DecodeConfig), goDecode(tiff.Decode, "tiff"), 0},
	{"MM\x00*", goSize(tiff.DecodeConfig), goDecode(tiff.Decode, "tiff"), 0},
	{"RIFF????WEBP", goSize(webp.DecodeConfig), goDecode(webp.Decode, "webp"), 0},
	{"P2", goSize(configPNM), decodePNM, 0},
	{"P3", goSize(configPNM), decodePNM, 0},
	{"P5", goSize(configPNM), decodePNM, 0},
	{"P6", goSize(configPNM), decodePNM, 0},
}

// find determines the format from the first bytes.
func find(data []byte) (format, error) {
	for _, f := range formats {
		if matches(data, f.magic) {
			return f, nil
		}
	}
	if name := Unsupported(data); name != "" {
		return format{}, fmt.Errorf("the image is %s, which is not supported: want JPEG, PNG, BMP, TIFF, WebP or PNM", name)
	}
	return format{}, errors.New("the image format is unknown: want JPEG, PNG, BMP, TIFF, WebP or PNM")
}

// matches reports whether data begin with magic, in which ? is any byte.
func matches(data []byte, magic string) bool {
	for i := range len(magic) {
		if i >= len(data) || magic[i] != '?' && magic[i] != data[i] {
			return false
		}
	}
	return true
}

// Unsupported returns the name of a well-known format that cannot be read, by the first 32 bytes of a file, or "".
func Unsupported(data []byte) string {
	if matches(data, "RIFF????WEBPVP8X") && len(data) > 20 && data[20]&2 != 0 {
		return "animated WebP"
	}
	for _, f := range [][2]string{
		{"\x00\x00\x00\x0cjP  \r\n\x87\n", "JPEG 2000"}, {"\xff\x4f\xff\x51", "JPEG 2000"}, // a file, a bare code stream
		{"\x00\x00\x00\x0cJXL \r\n\x87\n", "JPEG XL"}, {"\xff\x0a", "JPEG XL"},
		{"????ftypavi", "AVIF"}, {"????ftyphe", "HEIC"}, {"????ftypmif1", "HEIF"}, {"????ftypmsf1", "HEIF"},
	} {
		if matches(data, f[0]) {
			return f[1]
		}
	}
	return ""
}

// Size returns the width and height of the image in a file.
func Size(data []byte) (width, height int, err error) {
	f, err := find(data)
	if err != nil {
		return 0, 0, err
	}
	width, height, err = f.size(data)
	if err == nil && (width < 1 || height < 1 || width > maxSide || height > maxSide || width > maxPixels/height) {
		err = fmt.Errorf("an image of %d×%d pixels is empty or too large", width, height)
	}
	return width, height, err
}

// perPixel is about how many bytes a pixel takes while it is decoded, and perCoefficient what progressive JPEG files, which keep the coefficients
// of all three or four components, take in addition.
const perPixel, perCoefficient = 12, 16

// Decode reads the image in a file. What that takes is charged meanwhile.
func Decode(data []byte) (*RGB, error) {
	width, height, err := Size(data)
	if err != nil {
		return nil, err
	}
	f, err := find(data)
	if err != nil {
		return nil, err
	}
	release, err := reserve(perPixel, width, height, max(f.unit, 1))
	if err != nil {
		return nil, err
	}
	defer release()
	return f.decode(data)
}

// block is how many pixels a JPEG file's smallest unit has at most, across and down: an image one pixel wide takes as much as one of 32.
const block = 32

// reserve charges n bytes for each pixel of an image, in whole units of unit pixels across and down, until release.
func reserve(n int64, width, height, unit int) (release func(), err error) {
	whole := func(side int) int64 { return int64((side + unit - 1) / unit * unit) }
	n *= whole(width) * whole(height)
	if err := budget.Charge(n); err != nil {
		return nil, fmt.Errorf("decoding %d×%d pixels: %w", width, height, err)
	}
	return func() { budget.Discharge(n) }, nil
}

// Gray returns the luminance of each pixel (ITU-R 601-2), rounded.
func (p *RGB) Gray() []uint8 {
	g := make([]uint8, len(p.Pix)/3)
	for i := range g {
		c := p.Pix[3*i:]
		g[i] = uint8((uint32(c[0])*19595 + uint32(c[1])*38470 + uint32(c[2])*7471 + 1<<15) >> 16)
	}
	return g
}

func goSize(config func(r io.Reader) (image.Config, error)) func([]byte) (int, int, error) {
	return func(data []byte) (int, int, error) {
		c, err := config(bytes.NewReader(data))
		return c.Width, c.Height, err
	}
}

// goDecode reads with Go's package of a format.
func goDecode(decode func(r io.Reader) (image.Image, error), format string) func([]byte) (*RGB, error) {
	return func(data []byte) (*RGB, error) {
		m, err := decode(bytes.NewReader(data))
		if err != nil {
			return nil, err
		}
		if k, from := codingOf(m, format); from != nil {
			w, h := from.Rect.Dx(), from.Rect.Dy()
			p := &RGB{w, h, make([]uint8, 3*w*h)}
			k.paint(p.Pix, 3, w, h, planesOf(from))
			return p, nil
		}
		return fromImage(Colors(m, format, bytes.NewReader(data))), nil
	}
}

// fromImage drops transparency.
func fromImage(m image.Image) *RGB {
	b := m.Bounds()
	p := &RGB{Width: b.Dx(), Height: b.Dy(), Pix: make([]uint8, 0, 3*b.Dx()*b.Dy())}
	for y := b.Min.Y; y < b.Max.Y; y++ {
		for x := b.Min.X; x < b.Max.X; x++ {
			c := color.NRGBAModel.Convert(m.At(x, y)).(color.NRGBA)
			p.Pix = append(p.Pix, c.R, c.G, c.B)
		}
	}
	return p
}

// clamp returns the byte that is nearest to v.
func clamp[T int | int32](v T) uint8 { return uint8(min(max(v, 0), 255)) }

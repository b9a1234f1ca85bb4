package imagefile_test

import (
	"bytes"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"io"
	"slices"
	"testing"

	"github.com/graft-ml/graft/internal/imagefile"
	"golang.org/x/image/bmp"
	"golang.org/x/image/tiff"
)

// TestPNM checks hand-written Netpbm files: scaled and rounded samples, comments, all kinds of white space, and errors.
func TestPNM(t *testing.T) {
	for file, want := range map[string][]uint8{
		"P2 2 1 7 0 3": {0, 0, 0, 109, 109, 109}, "P2\t1\r1\n7\n7": {255, 255, 255}, "P2 1 1 7 9": {255, 255, 255}, "P3 1 1 3 1 2 3": {85, 170, 255}, "P3#\n#a\n1 #2 2\n1 1 1 0 1": {255, 0, 255},
		"P5 2 1 255 \x00\xff": {0, 0, 0, 255, 255, 255}, "P5 1 1 254  ": {32, 32, 32}, "P6 1 1 255\n\n# ": {10, 35, 32}, "P6 1 1 1 \x00\x01\x02more": {0, 255, 255}, "P2 1 1 255 300": {255, 255, 255},
	} {
		p, err := imagefile.Decode([]byte(file))
		if err != nil || !slices.Equal(p.Pix, want) || 3*p.Width*p.Height != len(want) {
			t.Errorf("%q: %v, %v, want %v", file, p, err, want)
		}
	}
	for file, want := range map[string]string{
		"P6": "PNM: the file is too short", "P6 1": "PNM: the file is too short", "P6 1 1 1#": "PNM: '#' is not a number", "P6 x": "PNM: 'x' is not a number", "P6 1 1 0 ": "PNM: samples up to 0 are not supported", "P6 1 1 256 ": "PNM: samples up to 256 are not supported",
		"P6 1 1 255 ab": "PNM: the file is too short", "P5 2 1 255 a": "PNM: the file is too short", "P3 1 1 255 1 2": "PNM: the file is too short", "P3 1 1 255 1 2 ": "PNM: the file is too short", "P3 1 1 255 1 2 x": "PNM: 'x' is not a number", "P6 # no end": "PNM: the file is too short",
		"P5 0 1 1 a": "an image of 0×1 pixels is empty or too large", "P5 1 0 1 a": "an image of 1×0 pixels is empty or too large", "P5 65537 1 1 a": "an image of 65537×1 pixels is empty or too large", "P5 1 65537 1 a": "an image of 1×65537 pixels is empty or too large", "P5 16385 16384 1 a": "an image of 16385×16384 pixels is empty or too large", "P5 99999999999 1 1 a": "PNM: '9' is not a number",
	} {
		if p, err := imagefile.Decode([]byte(file)); err == nil || err.Error() != want {
			t.Errorf("%q: %v, %v, want %s", file, p, err, want)
		}
	}
	for file, want := range map[string][2]int{"P5 65536 1 1 ": {65536, 1}, "P5 1 65536 255 ": {1, 65536}, "P6 16384 16384 1 ": {16384, 16384}, "P2 3 2 1 ": {3, 2}} {
		if w, h, err := imagefile.Size([]byte(file)); err != nil || w != want[0] || h != want[1] {
			t.Errorf("%q: %d×%d, %v", file, w, h, err)
		}
	}
}

// TestFormats checks that files written by the standard library are identified by their first bytes
// and read pixel by pixel, without transparency.
func TestFormats(t *testing.T) {
	m := image.NewNRGBA(image.Rect(5, 7, 8, 9))
	var want []uint8
	for y := 7; y < 9; y++ {
		for x := 5; x < 8; x++ {
			c := color.NRGBA{uint8(30 * x), uint8(20 * y), uint8(x * y), 255}
			m.SetNRGBA(x, y, c)
			want = append(want, c.R, c.G, c.B)
		}
	}
	for name, encode := range map[string]func(w io.Writer) error{
		"png": func(w io.Writer) error { return png.Encode(w, m) }, "bmp": func(w io.Writer) error { return bmp.Encode(w, m) }, "tiff": func(w io.Writer) error { return tiff.Encode(w, m, nil) },
	} {
		var b bytes.Buffer
		if err := encode(&b); err != nil {
			t.Fatal(err)
		}
		p, err := imagefile.Decode(b.Bytes())
		if err != nil || p.Width != 3 || p.Height != 2 || !slices.Equal(p.Pix, want) {
			t.Errorf("%s: %v, %v", name, p, err)
		}
		if w, h, err := imagefile.Size(b.Bytes()); err != nil || w != 3 || h != 2 {
			t.Errorf("%s: %d×%d, %v", name, w, h, err)
		}
		for _, n := range []int{1, 3, len(b.Bytes()) / 2} {
			if _, err := imagefile.Decode(b.Bytes()[:n]); err == nil {
				t.Errorf("%s: %d bytes are an image", name, n)
			}
		}
	}
	var b bytes.Buffer
	if err := jpeg.Encode(&b, m, nil); err != nil {
		t.Fatal(err)
	}
	if p, err := imagefile.Decode(b.Bytes()); err != nil || p.Width != 3 || p.Height != 2 || len(p.Pix) != 18 {
		t.Errorf("jpeg: %v, %v", p, err)
	}
	for _, data := range []string{"", "P", "P1 1 1 0", "P4", "GIF89a", "II*\x01", "RIFFabcdWEBX", "\x89PNH"} {
		if _, _, err := imagefile.Size([]byte(data)); err == nil || err.Error() != "the image format is unknown: want JPEG, PNG, BMP, TIFF, WebP or PNM" {
			t.Errorf("%q: %v", data, err)
		}
	}
}

// TestGray checks the luminance 0.299 R + 0.587 G + 0.114 B in sixteen bits, rounded.
func TestGray(t *testing.T) {
	p := imagefile.RGB{Pix: []uint8{255, 255, 255, 0, 0, 0, 255, 0, 0, 0, 255, 0, 0, 0, 255, 1, 2, 3, 100, 150, 200}}
	if got, want := p.Gray(), []uint8{255, 0, 76, 150, 29, 2, 141}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

package data

import (
	"bytes"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/graft-ml/graft/nn/dtype"
	xdraw "golang.org/x/image/draw"
)

// TestTransparencyIsDropped: an image has the numbers of the colours that are stored, whatever its transparency, as a file and decoded by the caller, whose image
// stays as it is.
func TestTransparencyIsDropped(t *testing.T) {
	size := image.Rect(0, 0, 9, 7)
	at := func(x, y int) color.NRGBA {
		return color.NRGBA{uint8(20 * x), uint8(30 * y), uint8(10 * (x + y)), uint8(255 - 28*x)}
	}
	plain, few := image.NewNRGBA(size), image.NewPaletted(size, color.Palette{color.NRGBA{200, 100, 50, 0}, color.NRGBA{10, 20, 30, 255}})
	fewPlain := image.NewNRGBA(size)
	pictures := map[string]draw.Image{"8 bits": image.NewNRGBA(size), "16 bits": image.NewNRGBA64(size)}
	for y := range 7 {
		for x := range 9 {
			c := at(x, y)
			few.SetColorIndex(x, y, uint8(x%2))
			fewPlain.SetNRGBA(x, y, solid(few.At(x, y)))
			for _, m := range pictures {
				m.Set(x, y, c)
			}
			plain.SetNRGBA(x, y, solid(pictures["16 bits"].At(x, y))) // the last column is fully transparent: its colour is kept by 8 bits only
		}
	}
	pictures["palette"] = few
	p := Preprocess{Size: 7, Width: 9, Crop: 1}
	for name, m := range pictures {
		want := plain
		if name == "palette" {
			want = fewPlain
		}
		if name == "8 bits" {
			want = image.NewNRGBA(size)
			for y := range 7 {
				for x := range 9 {
					want.SetNRGBA(x, y, solid(at(x, y)))
				}
			}
		}
		x, err := p.Image(want)
		if err != nil {
			t.Fatal(err)
		}
		var file bytes.Buffer
		if err := png.Encode(&file, m); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(t.TempDir(), "a.png")
		if err := os.WriteFile(path, file.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
		if m, err := OpenImage(path); err != nil || !m.(interface{ Opaque() bool }).Opaque() {
			t.Errorf("%s: the image that is read has transparency; %v", name, err)
		}
		opened, err := p.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		before := m.At(3, 3)
		given, err := p.Image(m)
		if err != nil {
			t.Fatal(err)
		}
		whole, _, err := p.Whole(m, false)
		if err != nil {
			t.Fatal(err)
		}
		if m.At(3, 3) != before {
			t.Errorf("%s: the image was changed", name)
		}
		for i, v := range dtype.Slice[float32](x) {
			for how, got := range map[string]float32{"a file": dtype.Slice[float32](opened)[i], "an image": dtype.Slice[float32](given)[i], "a whole image": dtype.Slice[float32](whole)[i]} {
				if got-v > 0.006 || v-got > 0.006 {
					t.Fatalf("%s as %s: element %d is %v, want %v", name, how, i, got, v)
				}
			}
		}
	}
}

// TestNarrowImages: of an image that is many times as long as it is wide, the crop is that of the whole image scaled, to one level.
func TestNarrowImages(t *testing.T) {
	for _, size := range []image.Point{{5, 200}, {300, 7}, {3, 1000}} {
		m := image.NewRGBA(image.Rect(2, 3, 2+size.X, 3+size.Y))
		for i := range m.Pix {
			if m.Pix[i] = uint8(i * i * 31 % 251); i%4 == 3 {
				m.Pix[i] = 255
			}
		}
		p := Preprocess{Size: 28, Crop: 0.875}
		short, long := 32, 32*max(size.X, size.Y)/min(size.X, size.Y)
		all := image.NewRGBA(image.Rect(0, 0, short, long))
		at := image.Pt(2, int(math.RoundToEven(float64(long-28)/2)))
		if size.X > size.Y {
			all, at = image.NewRGBA(image.Rect(0, 0, long, short)), image.Pt(int(math.RoundToEven(float64(long-28)/2)), 2)
		}
		xdraw.BiLinear.Scale(all, all.Bounds(), m, m.Bounds(), xdraw.Src, nil)
		got := p.centre(m)
		for y := range 28 {
			for x := range 28 {
				a, b := got.RGBAAt(x, y), all.RGBAAt(at.X+x, at.Y+y)
				for _, d := range []int{int(a.R) - int(b.R), int(a.G) - int(b.G), int(a.B) - int(b.B)} {
					if d < -1 || d > 1 {
						t.Fatalf("%v: pixel %d, %d is %v, want %v", size, x, y, a, b)
					}
				}
			}
		}
	}
}

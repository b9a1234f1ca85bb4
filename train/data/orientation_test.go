package data

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"os"
	"path/filepath"
	"testing"
)

// TestOrientation compares with Pillow's exif_transpose.
func TestOrientation(t *testing.T) {
	for _, x := range []struct {
		file string
		turn int
		by   int // pixels of the file for one of the wanted image
		near int
	}{
		{"1.png", 1, 1, 0}, {"2.png", 2, 1, 0}, {"3.png", 3, 1, 0}, {"4.png", 4, 1, 0}, {"5.png", 5, 1, 0}, {"6.png", 6, 1, 0},
		{"7.png", 7, 1, 0}, {"8.png", 8, 1, 0}, {"6.webp", 6, 1, 0}, {"6.tif", 6, 1, 0}, {"6.jpg", 6, 16, 3},
	} {
		got, err := OpenImage("testdata/exif/" + x.file)
		if err != nil {
			t.Fatal(err)
		}
		want, err := OpenImage(fmt.Sprintf("testdata/exif/want%d.png", x.turn))
		if err != nil {
			t.Fatal(err)
		}
		if size := want.Bounds().Size().Mul(x.by); got.Bounds().Size() != size {
			t.Errorf("%s: size %v, want %v", x.file, got.Bounds().Size(), size)
			continue
		}
		for row := range want.Bounds().Dy() {
			for col := range want.Bounds().Dx() {
				if a, b := got.At(col*x.by+x.by/2, row*x.by+x.by/2), want.At(col, row); apart(a, b) > x.near {
					t.Errorf("%s: %v at %d, %d, want %v", x.file, a, col, row, b)
				}
			}
		}
	}
}

func apart(a, b color.Color) int {
	p, q := color.RGBAModel.Convert(a).(color.RGBA), color.RGBAModel.Convert(b).(color.RGBA)
	d := func(x, y uint8) int { return max(int(x)-int(y), int(y)-int(x)) }
	return max(d(p.R, q.R), d(p.G, q.G), d(p.B, q.B))
}

// TestOrientationCut reads files that end anywhere: there is an answer, and no endless search.
func TestOrientationCut(t *testing.T) {
	for _, name := range []string{"6.png", "6.jpg", "6.webp", "6.tif"} {
		b, err := os.ReadFile("testdata/exif/" + name)
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(t.TempDir(), name)
		for n := range min(len(b), 400) {
			if err := os.WriteFile(path, b[:n], 0o600); err != nil {
				t.Fatal(err)
			}
			f, err := os.Open(path)
			if err != nil {
				t.Fatal(err)
			}
			if v := orientation(f); v != 1 && v != 6 {
				t.Errorf("%s, %d bytes: orientation %d", name, n, v)
			}
			f.Close()
		}
	}
}

// TestMaskOfTurnedImage pairs masks with pixels as they are stored, and as they are seen.
func TestMaskOfTurnedImage(t *testing.T) {
	for _, size := range []image.Rectangle{image.Rect(0, 0, 5, 3), image.Rect(0, 0, 3, 5)} {
		mask := image.NewGray(size)
		mask.Pix[0] = 1
		dir := t.TempDir()
		m := Masks{Items: []MaskItem{{"testdata/exif/6.png", filepath.Join(dir, "mask.png")}}}
		var b bytes.Buffer
		if err := png.Encode(&b, mask); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(m.Items[0].Mask, b.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := m.All(Preprocess{Size: 8}, 8, 8).At(0, nil); err != nil {
			t.Errorf("mask of %v: %v", size.Size(), err)
		}
	}
}

package data_test

import (
	"image"
	"image/color"
	"image/png"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/graft-ml/graft/train/data"
)

// drawn writes an image as PNG.
func drawn(t *testing.T, path string, img image.Image) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := png.Encode(f, img); err != nil {
		t.Fatal(err)
	}
}

// halves returns an image 8×6 that is white on the right, and its mask with two classes.
func halves(mask func(x int) (c color.Color), palette color.Palette) (*image.Gray, image.Image) {
	img := image.NewGray(image.Rect(0, 0, 8, 6))
	var m interface {
		image.Image
		Set(x, y int, c color.Color)
	} = image.NewGray(img.Rect)
	if palette != nil {
		m = image.NewPaletted(img.Rect, palette)
	}
	for i := range 48 {
		x, y := i%8, i/8
		if x >= 4 {
			img.SetGray(x, y, color.Gray{255})
		}
		m.Set(x, y, mask(x))
	}
	return img, m
}

// TestMasks checks that all kinds of masks keep the class of each pixel when image and mask are cropped and mirrored.
func TestMasks(t *testing.T) {
	colors := color.Palette{color.RGBA{0, 0, 0, 255}, color.RGBA{9, 9, 9, 255}, color.RGBA{200, 0, 0, 255}}
	for name, c := range map[string]struct {
		palette color.Palette
		right   color.Color
		want    int64
	}{
		"palette": {colors, colors[2], 2}, "gray": {nil, color.Gray{3}, 3}, "black and white": {nil, color.Gray{255}, 1},
	} {
		dir := t.TempDir()
		img, mask := halves(func(x int) color.Color {
			if x >= 4 {
				return c.right
			}
			return color.Gray{}
		}, c.palette)
		drawn(t, filepath.Join(dir, "images", "a.png"), img)
		drawn(t, filepath.Join(dir, "images", "b.png"), img)
		drawn(t, filepath.Join(dir, "masks", "a.png"), mask)
		drawn(t, filepath.Join(dir, "masks", "b_mask.png"), mask)
		m, err := data.MaskFolder(dir)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if len(m.Items) != 2 || m.Classes != int(c.want)+1 {
			t.Errorf("%s: %d pairs, %d classes", name, len(m.Items), m.Classes)
		}
		p := data.Preprocess{Size: 12, Width: 16, Gray: true}
		s, err := m.All(p, 6, 8).At(1, nil)
		if err != nil {
			t.Fatal(err)
		}
		want := []int64{0, 0, 0, 0, c.want, c.want, c.want, c.want}
		if y := s.Y[0]; !slices.Equal(y.Shape(), []int{6, 8}) || !slices.Equal(y.Int64s()[8:16], want) {
			t.Errorf("%s: the mask is %v %v", name, y.Shape(), y.Int64s())
		}
		fit, held := m.Split(0.5, 1, p, 12, 16)
		if fit.Len() != 1 || held.Len() != 1 {
			t.Errorf("%s: %d and %d", name, fit.Len(), held.Len())
		}
		moved := false
		for seed := range uint64(20) {
			s, err := fit.At(0, rand.New(rand.NewPCG(seed, 1)))
			if err != nil {
				t.Fatal(err)
			}
			x, y := s.X[0].Float32s(), s.Y[0].Int64s()
			for i := range y {
				if x[i] > 0.95 && y[i] == 0 || x[i] < 0.05 && y[i] != 0 {
					t.Fatalf("%s: pixel %d is %v and of class %d", name, i, x[i], y[i])
				}
			}
			moved = moved || y[0] != 0
		}
		if !moved {
			t.Errorf("%s: nothing is ever mirrored", name)
		}
	}
}

func TestMasksRefused(t *testing.T) {
	img, mask := halves(func(x int) color.Color { return color.Gray{uint8(40 * x)} }, nil)
	_, one := halves(func(int) color.Color { return color.Gray{} }, nil)
	red := image.NewRGBA(img.Rect)
	red.Set(1, 1, color.RGBA{255, 0, 0, 255})
	for want, masks := range map[string]map[string]image.Image{
		"a.png has no mask with the same name in":         {"b.png": mask},
		"want classes numbered from 0":                    {"a.png": mask},
		"there is nothing to learn":                       {"a.png": one},
		"a mask in colour: want a palette, or gray level": {"a.png": red},
	} {
		dir := t.TempDir()
		drawn(t, filepath.Join(dir, "images", "a.png"), img)
		for name, m := range masks {
			drawn(t, filepath.Join(dir, "masks", name), m)
		}
		if _, err := data.MaskFolder(dir); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	if _, err := data.MaskFolder(t.TempDir()); err == nil || !strings.Contains(err.Error(), "no folders images and masks in it") {
		t.Errorf("an empty folder: %v", err)
	}
	dir := t.TempDir()
	_, two := halves(func(x int) color.Color { return color.Gray{uint8(x / 4)} }, nil)
	drawn(t, filepath.Join(dir, "images", "a.png"), image.NewGray(image.Rect(0, 0, 5, 5)))
	drawn(t, filepath.Join(dir, "masks", "a.png"), two)
	m, err := data.MaskFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.All(data.Preprocess{Size: 4, Gray: true}, 4, 4).At(0, nil); err == nil || !strings.Contains(err.Error(), "is 5×5 pixels, its mask") {
		t.Errorf("a mask of another size: %v", err)
	}
}

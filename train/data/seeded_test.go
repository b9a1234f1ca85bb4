package data

import (
	"encoding/json"
	"flag"
	"fmt"
	"image"
	"image/color"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"gorgonia.org/tensor"
)

var update = flag.Bool("update", false, "write testdata/seeded.json again, after a change of what a seed draws that is meant")

// image has another colour in each pixel, and begins at (7, 9).
func testImage(w, h int) *image.RGBA {
	img := image.NewRGBA(image.Rect(0, 0, w+9, h+12))
	for y := range h + 12 {
		for x := range w + 9 {
			img.SetRGBA(x, y, color.RGBA{uint8(5 * x), uint8(4 * y), uint8(37 * x * y), 255})
		}
	}
	return img.SubImage(image.Rect(7, 9, 7+w, 9+h)).(*image.RGBA)
}

// TestSeeded has what a seed draws, so that a run can be repeated by a later version: parts of images, what they become, masks, mixtures
// and divisions. change_test.go holds that these are what they are said to be.
func TestSeeded(t *testing.T) {
	got := map[string][]float64{}
	r := func(i uint64) *rand.Rand { return rand.New(rand.NewPCG(i, 5)) }
	add := func(name string, x []float32) {
		for _, v := range x {
			got[name] = append(got[name], math.Round(float64(v)*1000)/1000)
		}
	}
	unit := Preprocess{Size: 4, Width: 6}
	for name, p := range map[string]Preprocess{"part": unit, "part light": {Size: 4, Policy: Light}, "part of half": {Size: 4, MinArea: 0.5}} {
		for i := range uint64(3) {
			add(name, p.numbers(p.part(testImage(31, 23), r(i)), i == 2).Float32s())
		}
	}
	pixels := func(img *image.RGBA) (list []float32) {
		eachPixel(img, func(p []byte, x, y int) {
			if x%5 == 1 && y%4 == 2 {
				list = append(list, float32(p[0]), float32(p[1]), float32(p[2]))
			}
		})
		return list
	}
	for _, a := range []Augmentation{Strong, Trivial} {
		for i := range uint64(24) {
			img := image.NewRGBA(image.Rect(0, 0, 15, 9))
			copy(img.Pix, cloned(testImage(6, 24)))
			a.repaint(img, r(i))
			add(fmt.Sprint("repaint ", a), pixels(img))
		}
	}
	for i := range uint64(8) {
		img := image.NewRGBA(image.Rect(0, 0, 12, 5))
		copy(img.Pix, cloned(testImage(12, 5)))
		erase(img, r(i))
		add("erase", pixels(img))
	}
	for name, p := range map[string]Preprocess{"vary": unit, "vary light": {Size: 4, Width: 6, Policy: Light}, "vary trivial": {Size: 4, Width: 6, Policy: Trivial}, "vary strong": {Size: 4, Width: 6, Policy: Strong}, "vary not mirrored": {Size: 4, Width: 6, NoFlip: true}} {
		for _, channels := range []int{1, 3} {
			x := make([]float32, channels*4*6)
			for i := range x {
				x[i] = float32(i*i%29) / 29
			}
			set := p.vary(Of(Sample{X: []*tensor.Dense{tensor.New(tensor.WithShape(channels, 4, 6), tensor.WithBacking(x))}}))
			for i := range uint64(2) {
				s, err := set.At(0, r(i+1))
				if err != nil {
					t.Fatal(err)
				}
				add(name, s.X[0].Float32s())
			}
		}
	}
	dir := t.TempDir()
	painted(t, filepath.Join(dir, "images", "a.png"), testImage(16, 12))
	mask := image.NewGray(image.Rect(0, 0, 16, 12))
	for i := range 16 * 12 {
		mask.Pix[i] = uint8(i % 16 / 3)
	}
	painted(t, filepath.Join(dir, "masks", "a.png"), mask)
	masks, err := MaskFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	for name, p := range map[string]Preprocess{"mask": unit, "mask strong": {Size: 4, Policy: Strong}, "mask not mirrored": {Size: 4, NoFlip: true}, "mask as it is": {Size: 4, Policy: NoAugmentation}} {
		fit, _ := masks.Split(0, 1, p, 5, 3)
		for i := range uint64(3) {
			s, err := fit.At(0, r(i))
			if err != nil {
				t.Fatal(err)
			}
			add(name, s.X[0].Float32s())
			for _, v := range s.Y[0].Data().([]int64) {
				add(name, []float32{float32(v)})
			}
		}
	}
	for i := range uint64(3) {
		s, err := unit.Augment(ImageFile{Path: filepath.Join(dir, "images", "a.png")}, r(i))
		if err != nil {
			t.Fatal(err)
		}
		add("augment", s.X[0].Float32s())
	}
	for _, a := range []float64{0.2, 1, 3} {
		g := r(1)
		for range 12 {
			add(fmt.Sprint("gamma ", a), []float32{float32(logGamma(a, g))})
		}
	}
	for i := range uint64(3) {
		picked, _ := divide(20, 6, i)
		for _, k := range picked {
			add("divide", []float32{float32(k)})
		}
	}
	const file = "testdata/seeded.json"
	if *update {
		b, err := json.Marshal(got)
		if err == nil {
			err = os.WriteFile(file, append(b, '\n'), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	want := map[string][]float64{}
	b, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(b, &want)
	}
	if err != nil {
		t.Fatal(err)
	}
	for name, list := range got {
		near := 0.004 // a byte, where numbers go up to 1
		if name == "erase" || name[:2] == "re" {
			near = 1
		}
		if len(list) != len(want[name]) {
			t.Errorf("%s: %d numbers, want %d", name, len(list), len(want[name]))
			continue
		}
		for i, v := range list {
			if math.Abs(v-want[name][i]) > near*1.01 {
				t.Errorf("%s: number %d is %v, want %v", name, i, v, want[name][i])
				break
			}
		}
	}
}

// The hash is the step of SplitMix64: these are the first numbers of its stream from 0.
func TestMixIsSplitMix(t *testing.T) {
	for i, want := range []uint64{0xe220a8397b1dcdaf, 0x6e789e6aa1b965f4, 0x06c45d188009454f} {
		if got := mix(0, uint64(i)); got != want {
			t.Errorf("number %d is %#x, want %#x", i, got, want)
		}
	}
	if mix(0x9e3779b97f4a7c15, 0) != 0x6e789e6aa1b965f4 {
		t.Error("a step from the next state")
	}
}

// TestHeldOut checks that at least one sample is held out, but never all, if there are two.
func TestHeldOut(t *testing.T) {
	for _, c := range []struct {
		n    int
		val  float64
		want int
	}{{4, 0.5, 2}, {4, 0, 0}, {4, -1, 0}, {4, math.NaN(), 0}, {4, 0.01, 1}, {4, 1, 3}, {4, 7, 3}, {1, 0.5, 0}, {0, 0.5, 0}, {10, 0.24, 2}, {10, 0.26, 3}, {2, 0.9, 1}} {
		picked, rest := heldOut(c.n, c.val, 1)
		if len(picked) != c.want || len(picked)+len(rest) != c.n {
			t.Errorf("%v of %d: %v and %v", c.val, c.n, picked, rest)
		}
	}
	f := &Folders{Classes: []string{"a"}}
	if fit, held := f.Split(0.5, Preprocess{}); fit.Len()+held.Len() != 0 {
		t.Error("a class without images")
	}
	mirrors := func(p Preprocess) bool {
		_, ok := Unmirrored(mirrored(p, func(Preprocess) Dataset[Sample] { return Of[Sample]() }))
		return ok
	}
	if !mirrors(Preprocess{}) || mirrors(Preprocess{NoFlip: true}) || mirrors(Preprocess{Policy: NoAugmentation}) {
		t.Error("which sets mirror")
	}
	empty := balanced{from: Of[Sample]()}
	if _, err := empty.At(0, rand.New(rand.NewPCG(1, 1))); err == nil {
		t.Error("a sample of an empty set")
	}
	held := 0
	for s, err := range Shuffled(func(yield func(Sample, error) bool) {
		for range 3 {
			if held++; !yield(Sample{}, nil) {
				return
			}
		}
	}, 2, 1, 0) {
		if _ = s; err != nil || held < 3 {
			t.Errorf("drawn of %d samples, a buffer of 2 and the next: %v", held, err)
		}
		break
	}
}

// TestMiddles checks rectangles and lines computed by hand.
func TestMiddles(t *testing.T) {
	for _, c := range []struct {
		b      image.Rectangle
		aspect float64
		want   image.Rectangle
	}{
		{image.Rect(0, 0, 10, 100), 2, image.Rect(0, 47, 10, 52)}, {image.Rect(2, 3, 102, 13), 2, image.Rect(42, 3, 62, 13)}, {image.Rect(0, 0, 400, 1), 1, image.Rect(199, 0, 200, 1)}, {image.Rect(0, 0, 1, 9), 0.01, image.Rect(0, 0, 1, 9)},
	} {
		if got := middle(c.b, c.aspect); got != c.want {
			t.Errorf("the middle of %v of aspect %v is %v, want %v", c.b, c.aspect, got, c.want)
		}
	}
	red := func(img *image.RGBA) (list []uint8) {
		eachPixel(img, func(p []byte, x, y int) {
			if y == 0 {
				list = append(list, p[0])
			}
		})
		return list
	}
	row := func(w, h int, f func(i int) uint8) *image.RGBA {
		img := image.NewRGBA(image.Rect(0, 0, w, h))
		for i := range w * h {
			img.SetRGBA(i%w, i/w, color.RGBA{f(i), 0, 0, 255})
		}
		return img
	}
	steps := func(i int) uint8 { return uint8(10 * i) }
	p := Preprocess{Size: 8, Crop: 1}
	if got := red(p.centre(row(8, 1, steps))); got[0] >= got[7] || got[0] < 30 || got[7] > 40 { // 8 times as wide as high: scaled whole, between pixels 3 and 4
		t.Errorf("%v", got)
	}
	tall := p.centre(row(1, 8, steps))
	if a, b := tall.RGBAAt(tall.Rect.Min.X, tall.Rect.Min.Y).R, tall.RGBAAt(tall.Rect.Min.X, tall.Rect.Max.Y-1).R; a >= b || a < 30 || b > 40 {
		t.Errorf("%v to %v", a, b)
	}
	if got := red(p.centre(row(9, 1, steps))); slices.Min(got) != 35 || slices.Max(got) != 44 || !slices.IsSorted(got) { // the pixel in the middle, which is interpolated with its neighbours
		t.Errorf("%v", got)
	}
	tall = p.centre(row(1, 9, steps))
	if a, b := tall.RGBAAt(0, 0).R, tall.RGBAAt(0, 7).R; a != 35 || b != 44 {
		t.Errorf("%v to %v", a, b)
	}
	if got := red(Preprocess{Size: 4, Width: 8, Crop: 1}.centre(row(200, 1, func(i int) uint8 { return uint8(i) }))); slices.Min(got) != 99 || slices.Max(got) != 100 { // two pixels wide
		t.Errorf("%v", got)
	}
	// An image of columns and its transpose become the same tensor but for the order of its axes.
	flat := row(16, 8, func(i int) uint8 { return uint8(i * 2) })
	up := image.NewRGBA(image.Rect(0, 0, 8, 16))
	for i := range 8 * 16 {
		up.SetRGBA(i%8, i/8, flat.RGBAAt(i/8, i%8))
	}
	p.Size = 4
	a, b := p.numbers(p.centre(flat), false).Float32s(), p.numbers(p.centre(up), false).Float32s()
	for i := range 16 {
		if a[i] != b[i%4*4+i/4] {
			t.Fatalf("%v, transposed %v", a[:16], b[:16])
		}
	}
	// Images of one pixel, row or column have parts too.
	g := rand.New(rand.NewPCG(1, 1))
	for range 50 {
		if got := p.part(row(1, 1, func(int) uint8 { return 200 }), g).Pix[0]; got != 200 {
			t.Fatalf("an image of one pixel, 200, has a part of %d", got)
		}
	}
	for _, size := range [][2]int{{3, 1}, {1, 3}, {2, 2}} {
		seen := map[string]bool{}
		for range 50 {
			seen[string(p.part(row(size[0], size[1], func(i int) uint8 { return uint8(3 * i) }), g).Pix)] = true
		}
		if len(seen) < 2 {
			t.Errorf("%v pixels: one part only", size)
		}
	}
}

// TestGrayLevels checks gray levels for all color models: 0.299 red, 0.587 green, 0.114 blue, rounded half up.
func TestGrayLevels(t *testing.T) {
	img := image.NewRGBA(image.Rect(0, 0, 16, 256))
	for i := range 16 * 256 {
		img.SetRGBA(i%16, i/16, color.RGBA{uint8(i % 16 * 17), uint8(i / 16), uint8(i * 41), 255})
	}
	p := Preprocess{Size: 256, Width: 16, Gray: true, Range: 255}
	x := p.numbers(img, false).Float32s()
	for i, v := range x {
		want := math.Floor((299*float64(i%16*17)+587*float64(i/16)+114*float64(uint8(i*41)))/1000 + 0.5)
		if float64(v) != want {
			t.Fatalf("pixel %d is %v, want %v", i, v, want)
		}
	}
	if got := luminance(img, 3, 20); got != math.Trunc(0.2989*51+0.587*20+0.114*float64(uint8((20*16+3)*41%256))) {
		t.Errorf("luminance %v", got)
	}
	small := image.NewRGBA(image.Rect(0, 0, 1, 1))
	small.SetRGBA(0, 0, color.RGBA{10, 20, 10, 255})
	if got := luminance(small, 0, 0); got != 15 { // 2.989 + 11.74 + 1.14
		t.Errorf("luminance %v", got)
	}
}

// TestUnchangedImages checks augmentations that leave some images unchanged.
func TestUnchangedImages(t *testing.T) {
	for name, c := range map[string]struct {
		w, h int
		f    func(*image.RGBA)
		at   func(i int) uint8
	}{
		"sharpen two columns": {2, 128, func(img *image.RGBA) { sharpen(img, 0.7) }, func(i int) uint8 { return uint8(i) }},
		"sharpen two rows":    {128, 2, func(img *image.RGBA) { sharpen(img, 0.7) }, func(i int) uint8 { return uint8(i) }},
		"stretch one level":   {4, 4, func(img *image.RGBA) { autoContrast(img, 0) }, func(int) uint8 { return 77 }},
		"equalize one level":  {4, 4, func(img *image.RGBA) { equalize(img, 0) }, func(int) uint8 { return 77 }},
		"equalize few pixels": {4, 4, func(img *image.RGBA) { equalize(img, 0) }, func(i int) uint8 { return uint8(9 * i) }},
	} {
		img := image.NewRGBA(image.Rect(0, 0, c.w, c.h))
		for i := range c.w * c.h {
			v := c.at(i)
			img.SetRGBA(i%c.w, i/c.w, color.RGBA{v, v, v, 255})
		}
		was := cloned(img)
		if c.f(img); !slices.Equal(was, img.Pix) {
			t.Errorf("%s: %v, want %v", name, img.Pix, was)
		}
	}
	three := image.NewRGBA(image.Rect(0, 0, 3, 3))
	for i := range 9 {
		three.SetRGBA(i%3, i/3, color.RGBA{uint8(10 * i), 0, 0, 255})
	}
	if sharpen(three, -1); three.RGBAAt(1, 1).R != 40 || three.RGBAAt(0, 0).R != 0 || three.RGBAAt(2, 1).R != 50 {
		t.Errorf("smoothed: %v", three.Pix) // (360 + 4·40)/13 = 40 in the middle, the border as it was
	}
}

package data

import (
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gorgonia.org/tensor"
)

// motion is where the pixels of a varied image come from: y' = m[0]·y + m[1]·x + m[2], x' = m[3]·y + m[4]·x + m[5] from the middle of
// the image. It is read off an image whose channels are the coordinates, at its middle, which no border reaches.
func motion(t *testing.T, p Preprocess, h, w int, r *rand.Rand) (m [6]float64) {
	t.Helper()
	x := make([]float32, 2*h*w)
	for i := range h {
		for j := range w {
			x[i*w+j], x[h*w+i*w+j] = float32(i)-float32(h-1)/2, float32(j)-float32(w-1)/2
		}
	}
	out := p.varied(tensor.New(tensor.WithShape(2, h, w), tensor.WithBacking(x)), r).Float32s()
	i, j := h/2, w/2
	at := func(k, di, dj int) float64 { return float64(out[k*h*w+(i+di)*w+j+dj]) }
	oy, ox := float64(i)-float64(h-1)/2, float64(j)-float64(w-1)/2
	for k := range 2 {
		dy, dx := (at(k, 4, 0)-at(k, -4, 0))/8, (at(k, 0, 4)-at(k, 0, -4))/8
		m[3*k], m[3*k+1] = dy, dx
		m[3*k+2] = at(k, 0, 0) - dy*oy - dx*ox
		for _, d := range [][2]int{{3, 2}, {-5, 4}, {2, -6}} { // one linear map everywhere
			if want := at(k, 0, 0) + dy*float64(d[0]) + dx*float64(d[1]); math.Abs(at(k, d[0], d[1])-want) > 1e-3 {
				t.Fatalf("coordinate %d is %v %v from the middle, want %v", k, at(k, d[0], d[1]), d, want)
			}
		}
	}
	return m
}

// TestVariedImages checks that images are rotated by up to 10°, scaled by up to a tenth, shifted by up
// to a twelfth of their size in each direction and mirrored with probability ½; with Light by a third
// of that.
func TestVariedImages(t *testing.T) {
	const draws = 2000
	for _, c := range []struct {
		p                   Preprocess
		turn, scale, h, w   float64 // most
		mirrored, unchanged bool
	}{
		{Preprocess{}, 10, 0.1, 60. / 12, 84. / 12, true, false}, {Preprocess{NoFlip: true}, 10, 0.1, 60. / 12, 84. / 12, false, false},
		{Preprocess{Policy: Light}, 10. / 3, 0.1 / 3, 60. / 36, 84. / 36, true, false}, {Preprocess{Policy: Trivial}, 0, 0, 60. / 12, 84. / 12, true, true},
	} {
		r := rand.New(rand.NewPCG(1, 2))
		var most [4]float64
		mirrors, positive := 0, 0
		for range draws {
			m := motion(t, c.p, 60, 84, r)
			mirror := 1.0
			if m[0]*m[4]-m[1]*m[3] < 0 {
				mirror = -1
				mirrors++
			}
			m[1], m[4] = mirror*m[1], mirror*m[4]
			if math.Abs(m[0]-m[4]) > 1e-3 || math.Abs(m[1]+m[3]) > 1e-3 {
				t.Fatalf("%v neither turns nor scales", m)
			}
			angle, scale := math.Atan2(m[3], m[0]), -math.Log(math.Hypot(m[0], m[3]))
			// The move is made before turning and scaling.
			det := m[0]*m[4] - m[1]*m[3]
			dy, dx := (m[4]*m[2]-m[1]*m[5])/det, (m[0]*m[5]-m[3]*m[2])/det
			for i, v := range []float64{angle * 180 / math.Pi, scale, dy, dx} {
				most[i] = max(most[i], math.Abs(v))
			}
			if angle > 0 {
				positive++
			}
		}
		for i, limit := range []float64{c.turn, c.scale, c.h, c.w} {
			if most[i] > limit*1.001+1e-4 || most[i] < 0.98*limit {
				t.Errorf("%+v: the largest of change %d is %v, want %v", c.p, i, most[i], limit)
			}
		}
		if want := 0.5; !c.mirrored && mirrors > 0 || c.mirrored && math.Abs(float64(mirrors)/draws-want) > 0.05 {
			t.Errorf("%+v: %d of %d are mirrored", c.p, mirrors, draws)
		}
		if !c.unchanged && math.Abs(float64(positive)/draws-0.5) > 0.05 {
			t.Errorf("%+v: %d of %d are turned one way", c.p, positive, draws)
		}
	}
	// What comes from outside repeats the border: no value is new.
	x := tensor.New(tensor.WithShape(1, 5, 7), tensor.WithBacking(slices.Repeat([]float32{3}, 35)))
	for seed := range uint64(50) {
		for _, v := range (Preprocess{}).varied(x, rand.New(rand.NewPCG(seed, 0))).Float32s() {
			if math.Abs(float64(v)-3) > 1e-5 {
				t.Fatalf("%v in an image of one value", v)
			}
		}
	}
	for a, want := range map[Augmentation]bool{Moderate: false, NoAugmentation: false, Light: false, Strong: true, Trivial: true} {
		if a.repaints() != want {
			t.Errorf("%q repaints: %v", a, !want)
		}
	}
	for least, p := range map[float64]Preprocess{0.08: {}, 0.3: {MinArea: 0.3}, 0.8: {Policy: Light}, 0.9: {Policy: Light, MinArea: 0.9}} {
		if p.least() != least {
			t.Errorf("%+v: least share %v, want %v", p, p.least(), least)
		}
	}
}

// A rectangle of a fiftieth to a third is painted in the mean colour.
func TestErase(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	smallest, largest, none := 1.0, 0.0, 0
	const h, w = 40, 50
	for range 3000 {
		img := image.NewRGBA(image.Rect(0, 0, w, h))
		for i := range h * w {
			v := uint8(100 * (i % 2)) // the mean is 50
			copy(img.Pix[4*i:], []byte{v, 2 * v, 100, 255})
		}
		before := cloned(img)
		erase(img, r)
		left, top, right, bottom, n := w, h, -1, -1, 0
		eachPixel(img, func(p []byte, x, y int) {
			if p[0] == 50 {
				n++
				left, top, right, bottom = min(left, x), min(top, y), max(right, x), max(bottom, y)
				if p[1] != 100 || p[2] != 100 {
					t.Fatalf("painted %v", p)
				}
			} else if i := 4 * (y*w + x); !slices.Equal(p, before[i:i+3]) {
				t.Fatalf("pixel %d, %d is %v, was %v", x, y, p, before[i:i+3])
			}
		})
		if n == 0 {
			none++
			continue
		}
		if n != (right-left+1)*(bottom-top+1) {
			t.Fatalf("%d pixels in %d×%d", n, right-left+1, bottom-top+1)
		}
		smallest, largest = min(smallest, float64(n)/(h*w)), max(largest, float64(n)/(h*w))
	}
	if smallest < 0.017 || smallest > 0.025 || largest < 0.3 || largest > 0.345 || none > 300 {
		t.Errorf("shares from %v to %v, %d without", smallest, largest, none)
	}
}

// TestBeta checks that mixing coefficients are distributed as Beta(a, a): mean ½, variance 1/(4·(2a+1)).
func TestBeta(t *testing.T) {
	const n = 40000
	for _, a := range []float64{0.05, 0.2, 0.5, 1, 2, 8} {
		r := rand.New(rand.NewPCG(5, math.Float64bits(a)))
		sum, square := 0.0, 0.0
		for range n {
			v := beta(a, r)
			if !(v >= 0 && v <= 1) {
				t.Fatalf("Beta(%v) gives %v", a, v)
			}
			sum, square = sum+v, square+v*v
		}
		mean := sum / n
		variance, want := square/n-mean*mean, 1/(4*(2*a+1))
		if math.Abs(mean-0.5) > 4*math.Sqrt(want/n) || math.Abs(variance/want-1) > 0.04 {
			t.Errorf("Beta(%v) has mean %v and variance %v, want ½ and %v", a, mean, variance, want)
		}
		logs := 0.0 // Gamma(a) has the mean a
		for range n {
			logs += math.Exp(logGamma(a, r))
		}
		if math.Abs(logs/n-a) > 5*math.Sqrt(a/n) {
			t.Errorf("Gamma(%v) has mean %v", a, logs/n)
		}
	}
	if (MixUp{}).alpha() != 0.2 || (MixUp{CutMix: true}).alpha() != 1 || (MixUp{Alpha: 3, CutMix: true}).alpha() != 3 {
		t.Error("the defaults of Alpha")
	}
}

// A pasted rectangle has the share that is left over, but for what sticks out, and comes from the same places.
func TestPaste(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	const c, h, w = 2, 20, 30
	whole := 0
	for k := range 2000 {
		keep := float64(k%100) / 100
		x, from := make([]float32, c*h*w), make([]float32, c*h*w)
		for i := range from {
			from[i] = float32(i + 1)
		}
		left := paste(x, from, []int{c, h, w}, keep, r)
		n := 0
		for i, v := range x {
			if v != 0 {
				if n++; v != from[i] {
					t.Fatalf("place %d has %v", i, v)
				}
			}
		}
		if want := 1 - float64(n)/(c*h*w); math.Abs(left-want) > 1e-12 {
			t.Fatalf("%v is left, said to be %v", want, left)
		}
		side := math.Sqrt(1 - keep)
		if full := c * int(side*h) * int(side*w); n > full {
			t.Fatalf("%d numbers are pasted, of a rectangle of %d", n, full)
		} else if n == full {
			whole++
		}
	}
	if whole < 100 {
		t.Errorf("%d of 2000 rectangles are whole", whole)
	}
	if left := paste(nil, nil, []int{1, 0, 5}, 0.5, r); left != 1 {
		t.Errorf("of nothing %v is left", left)
	}
}

// TestPixelsThereAndBack checks conversions between tensors, images and gray levels.
func TestPixelsThereAndBack(t *testing.T) {
	for _, channels := range []int{1, 3} {
		const h, w = 3, 4
		x := make([]float32, channels*h*w)
		for i := range x {
			x[i] = float32(i*7%256) / 255
		}
		img := asImage(tensor.New(tensor.WithShape(channels, h, w), tensor.WithBacking(slices.Clone(x))))
		for i := range h * w {
			if img.Pix[4*i+3] != 255 {
				t.Errorf("pixel %d is transparent", i)
			}
			if channels == 1 && (img.Pix[4*i] != img.Pix[4*i+1] || img.Pix[4*i] != img.Pix[4*i+2]) {
				t.Errorf("pixel %d is not gray", i)
			}
		}
		if got := fromImage(img, channels).Float32s(); !slices.Equal(got, x) {
			t.Errorf("%d channels: %v, want %v", channels, got, x)
		}
	}
	img := asImage(tensor.New(tensor.WithShape(1, 1, 4), tensor.WithBacking([]float32{-1, 2, 0.5, 0.498})))
	if got := []byte{img.Pix[0], img.Pix[4], img.Pix[8], img.Pix[12]}; !slices.Equal(got, []byte{0, 255, 128, 127}) {
		t.Errorf("rounded to %v", got)
	}
	for p, want := range map[[3]byte]float64{{7, 7, 7}: 7, {255, 255, 255}: 255, {10, 10, 20}: 11, {20, 10, 10}: 12, {10, 20, 10}: 15, {100, 0, 0}: 29, {0, 100, 0}: 58, {0, 0, 100}: 11} {
		img := image.NewRGBA(image.Rect(0, 0, 2, 2))
		copy(img.Pix[img.Stride+4:], p[:])
		if got := luminance(img, 1, 1); got != want {
			t.Errorf("the gray level of %v is %v, want %v", p, got, want)
		}
	}
}

// TestStreams checks batched and shuffled streams.
func TestStreams(t *testing.T) {
	samples := func(n int) func(yield func(Sample, error) bool) {
		return func(yield func(Sample, error) bool) {
			for i := range n {
				if !yield(Sample{X: []*tensor.Dense{tensor.New(tensor.FromScalar(float32(i)))}}, nil) {
					return
				}
			}
		}
	}
	ones := 0
	for _, err := range Batches(samples(3), 1) {
		if ones++; err != nil {
			t.Error(err)
		}
	}
	for _, err := range Batches(samples(3), 0) {
		if err == nil || err.Error() != "data: batches of 0 samples: want 1 or more" {
			t.Error(err)
		}
	}
	if ones != 3 {
		t.Errorf("%d batches of one", ones)
	}
	for n, want := range map[int]string{0: "", 1: "1", 4: "4", 5: "4 1", 8: "4 4"} {
		var got []string
		for b, err := range Batches(samples(n), 4) {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, fmt.Sprint(b.X[0].Shape()[0]))
		}
		if s := strings.Join(got, " "); s != want {
			t.Errorf("%d samples come in batches of %q, want %q", n, s, want)
		}
	}
	for _, buffer := range []int{0, 1, 3, 10, 100} {
		var got []float32
		for s, err := range Shuffled(samples(30), buffer, 1, 2) {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, s.X[0].Data().(float32))
		}
		for at, v := range got {
			if int(v) > at+max(buffer, 1) {
				t.Errorf("a buffer of %d: sample %v comes in place %d", buffer, v, at)
			}
		}
		slices.Sort(got)
		for i, v := range got {
			if v != float32(i) || len(got) != 30 {
				t.Fatalf("a buffer of %d: %v", buffer, got)
			}
		}
	}
}

// TestOddFiles checks errors for files that are not in MNIST's format, and that masks are found with
// another extension than their images.
func TestOddFiles(t *testing.T) {
	dir := t.TempDir()
	for text, want := range map[string]string{
		"": "not an IDX file", "\x00\x00": "not an IDX file", "\x01\x00\x08\x01\x00\x00\x00\x01a": "not an IDX file", "\x00\x01\x08\x01\x00\x00\x00\x01a": "not an IDX file",
		"\x00\x00\x07\x01\x00\x00\x00\x01a": "element type 0x7, rank 1", "\x00\x00\x08\x00": "element type 0x8, rank 0", "\x00\x00\x08\x02\x00\x00\x00\x01": "truncated in the header", "\x00\x00\x08\x01\x00\x00\x00\x02a": "",
	} {
		path := filepath.Join(dir, "x")
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadIDX(path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
	for _, d := range []string{"images/more.png", "masks/other.png"} { // folders with an ending
		if err := os.MkdirAll(filepath.Join(dir, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	gray := image.NewGray(image.Rect(0, 0, 2, 2))
	gray.SetGray(0, 0, color.Gray{Y: 3})
	for _, name := range []string{"images/a.png", "images/b.png", "images/c.png", "masks/a_mask.png", "masks/a.png", "masks/b-mask.png", "masks/c_seg.png", "masks/c_label.png"} {
		f, err := os.Create(filepath.Join(dir, name))
		if err == nil {
			err = errors.Join(png.Encode(f, gray), f.Close())
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "images/readme.txt"), []byte("text"), 0o644); err != nil {
		t.Fatal(err)
	}
	m, err := MaskFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, i := range m.Items {
		got = append(got, filepath.Base(i.Image)+" "+filepath.Base(i.Mask))
	}
	if want := "a.png a.png; b.png b-mask.png; c.png c_label.png"; strings.Join(got, "; ") != want || m.Classes != 4 {
		t.Errorf("%s, %d classes, want %s", strings.Join(got, "; "), m.Classes, want)
	}
}

// A window of an image with a mask is in it, has its aspect, and is of any part of it.
func TestWindows(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 1))
	b := image.Rect(5, 7, 5+40, 7+60)
	var left, right, top, bottom bool
	smallest, largest := 1.0, 0.0
	for range 3000 {
		w := Preprocess{}.window(b, r)
		if !w.In(b) || math.Abs(float64(w.Dx())/40-float64(w.Dy())/60) > 0.03 {
			t.Fatalf("%v of %v", w, b)
		}
		left, right, top, bottom = left || w.Min.X == b.Min.X, right || w.Max.X == b.Max.X, top || w.Min.Y == b.Min.Y, bottom || w.Max.Y == b.Max.Y
		side := float64(w.Dy()) / 60
		smallest, largest = min(smallest, side), max(largest, side)
	}
	if !left || !right || !top || !bottom || smallest < 0.23 || smallest > 0.27 || largest < 0.97 {
		t.Errorf("sides from %v to %v, at the borders %v %v %v %v", smallest, largest, left, right, top, bottom)
	}
}

// TestHalvesOfFolders checks that folders are split if one is called train and the others have names of held-out sets.
func TestHalvesOfFolders(t *testing.T) {
	for subs, want := range map[string]string{"train val": "train val", "test train": "train test", "train": "train ", "val": " ", "train cats": " ", "valid train test": "train valid", "": " ", "test val": " "} {
		train, val := halves(strings.Fields(subs))
		if got := train + " " + val; got != want {
			t.Errorf("%q: %q, want %q", subs, got, want)
		}
	}
}

// The means and deviations of a preset are kept for images in colour; of gray ones, one is.
func TestForInputs(t *testing.T) {
	for _, c := range []struct {
		mean []float64
		dims []int
		want int
	}{{[]float64{1, 2, 3}, []int{1, 3, 8, 8}, 3}, {[]float64{1, 2, 3}, []int{1, 1, 8, 8}, 0}, {[]float64{1}, []int{1, 1, 8, 8}, 1}, {[]float64{1}, []int{1, 8, 8, 3}, 1}} {
		p, err := Preprocess{Size: 8, Mean: c.mean, Std: c.mean}.For(c.dims)
		if err != nil || len(p.Mean) != c.want || len(p.Std) != c.want || p.NHWC != (c.dims[1] == 8) || p.Gray != (c.want < 3 && c.dims[1] == 1) {
			t.Errorf("%v for %v: %+v, %v", c.mean, c.dims, p, err)
		}
	}
}

// TestSmallImages checks shifting, sharpening and repainting of small images.
func TestSmallImages(t *testing.T) {
	for size, want := range map[int]float64{30: 10, 96: 32, 97: 32, 400: 32, 3: 1} {
		if got := far(size); got != want {
			t.Errorf("%d pixels are moved by %v", size, got)
		}
	}
	for _, size := range []image.Point{{2, 5}, {5, 2}, {3, 3}} {
		img := image.NewRGBA(image.Rect(0, 0, size.X, size.Y))
		img.Pix[img.Stride+4] = 130 // at 1, 1
		sharpen(img, 0.5)
		want := byte(130)
		if size == image.Pt(3, 3) {
			want = 170 // 1.5·130 − 0.5·round(5·130/13)
		}
		if got := img.Pix[img.Stride+4]; got != want {
			t.Errorf("%v: %d, want %d", size, got, want)
		}
	}
	for _, channels := range []int{1, 2, 3} {
		x := make([]float32, channels*16)
		for i := range x {
			x[i] = float32(i%7) / 7
		}
		s := Sample{X: []*tensor.Dense{tensor.New(tensor.WithShape(channels, 4, 4), tensor.WithBacking(x))}}
		set := Preprocess{Policy: Strong, Size: 4, Gray: channels == 1}.vary(Of(s))
		_, err := set.At(0, rand.New(rand.NewPCG(1, 1)))
		if (err != nil) != (channels == 2) {
			t.Errorf("%d channels: %v", channels, err)
		}
	}
	dir := t.TempDir()
	if IsMaskFolder(dir) {
		t.Error("an empty folder has masks")
	}
	for _, c := range []struct {
		name string
		want bool
	}{{"imgs", false}, {"annotations", true}} {
		if err := os.Mkdir(filepath.Join(dir, c.name), 0o755); err != nil {
			t.Fatal(err)
		}
		if IsMaskFolder(dir) != c.want {
			t.Errorf("with %s: masks %v", c.name, !c.want)
		}
	}
	for _, c := range []struct {
		b     image.Rectangle
		ratio float64
		want  image.Rectangle
	}{{image.Rect(0, 0, 100, 50), 1, image.Rect(25, 0, 75, 50)}, {image.Rect(10, 20, 60, 120), 1, image.Rect(10, 45, 60, 95)}, {image.Rect(0, 0, 40, 20), 2, image.Rect(0, 0, 40, 20)}} {
		if got := middle(c.b, c.ratio); got != c.want {
			t.Errorf("the middle of %v is %v, want %v", c.b, got, c.want)
		}
	}
}

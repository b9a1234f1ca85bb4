package data_test

import (
	"fmt"
	"image"
	"image/color"
	"image/png"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"

	"github.com/graft-ml/graft/internal/budget"
	"github.com/graft-ml/graft/train/data"
)

// shaded writes images of two classes, brighter from left to right and from top to bottom, into a new folder.
func shaded(t *testing.T, w, h int) string {
	t.Helper()
	dir := t.TempDir()
	for i := range 4 {
		img := image.NewRGBA(image.Rect(0, 0, w, h))
		for y := range h {
			for x := range w {
				img.SetRGBA(x, y, color.RGBA{uint8(255 * x / w), uint8(255 * y / h), uint8(60 * i), 255})
			}
		}
		path := filepath.Join(dir, fmt.Sprint("class", i%2), fmt.Sprint(i, ".png"))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		f, err := os.Create(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := png.Encode(f, img); err != nil {
			t.Fatal(err)
		}
		f.Close()
	}
	return dir
}

// A cache changes nothing in images for evaluation, and of crops of large images hardly anything; what fits is read only once.
func TestImageCache(t *testing.T) {
	p := data.Preprocess{Size: 16, MinArea: 0.36}
	for _, tc := range []struct {
		name   string
		w, h   int
		within float64 // of black to white: the crop of a reduced image begins up to half a pixel away
	}{{"small", 20, 18, 0}, {"large", 300, 200, 0.06}} {
		t.Run(tc.name, func(t *testing.T) {
			dir := shaded(t, tc.w, tc.h)
			sets := func(cache int64) (fit, held, all data.Dataset[data.Sample]) {
				f, err := data.Folder(dir)
				if err != nil {
					t.Fatal(err)
				}
				f.Cache = cache
				fit, held = f.Split(0.5, p)
				return fit, held, f.All(p)
			}
			read := func(s data.Dataset[data.Sample], seed uint64) (x [][]float32) {
				for i := range s.Len() {
					var r *rand.Rand
					if seed > 0 {
						r = rand.New(rand.NewPCG(seed, uint64(i)))
					}
					v, err := s.At(i, r)
					if err != nil {
						t.Fatal(err)
					}
					x = append(x, v.X[0].Float32s())
				}
				return x
			}
			off := func(a, b [][]float32) (most float64) {
				for i := range a {
					for k, v := range a[i] {
						most = max(most, math.Abs(float64(v-b[i][k])))
					}
				}
				return most
			}
			fit, held, all := sets(0)
			kept, keptHeld, keptAll := sets(1 << 20)
			for name, pair := range map[string][2]data.Dataset[data.Sample]{"fit": {fit, kept}, "held": {held, keptHeld}, "all": {all, keptAll}} {
				if d := off(read(pair[0], 0), read(pair[1], 0)); d != 0 {
					t.Errorf("%s, as for evaluation: off by %v", name, d)
				}
			}
			if d := off(read(fit, 5), read(kept, 5)); d > tc.within {
				t.Errorf("augmented: off by %v, want at most %v", d, tc.within)
			}
			tight, _, _ := sets(4*16*16 + 1) // one image of either set
			want := read(kept, 7)
			if !slices.EqualFunc(want, read(tight, 7), slices.Equal) {
				t.Error("what a cache holds changes the crops")
			}
			if err := os.RemoveAll(dir); err != nil {
				t.Fatal(err)
			}
			if !slices.EqualFunc(want, read(kept, 7), slices.Equal) {
				t.Error("a second reading differs")
			}
			if _, err := tight.At(0, nil); err == nil {
				_, err = tight.At(1, nil)
				if err == nil {
					t.Error("more was kept than the cache may hold")
				}
			}
		})
	}
}

// The classes of images that are mirrored by chance are known without reading them all.
func TestClassesOfMirroredFiles(t *testing.T) {
	dir := shaded(t, 4, 4)
	f, err := data.Folder(dir)
	if err != nil {
		t.Fatal(err)
	}
	fit, _ := f.Split(0, data.Preprocess{Size: 4})
	if err := os.Remove(filepath.Join(dir, "class1", "3.png")); err != nil {
		t.Fatal(err)
	}
	got, err := data.Classes(fit)
	if err != nil || !slices.Equal(got, []int{0, 0, 1, 1}) {
		t.Errorf("%v, %v", got, err)
	}
}

// TestImageCacheCharged: images that a cache keeps are charged to the memory budget.
func TestImageCacheCharged(t *testing.T) {
	f, err := data.Folder(shaded(t, 20, 18))
	if err != nil {
		t.Fatal(err)
	}
	f.Cache = 1 << 20
	used := func() int64 { return budget.Default() - budget.LeftCollected() }
	before := used()
	all := f.All(data.Preprocess{Size: 16})
	for i := range all.Len() {
		if _, err := all.At(i, nil); err != nil {
			t.Fatal(err)
		}
	}
	if got := used() - before; got != 4*16*16*int64(all.Len()) {
		t.Errorf("%d bytes are charged for %d images", got, all.Len())
	}
	runtime.KeepAlive(all)
}

package data

import (
	"encoding/json"
	"image"
	"math"
	"math/rand/v2"
	"os"
	"testing"

	"gorgonia.org/tensor"
)

// TestTrivialAugment compares each operation of TrivialAugment with torchvision's (testdata/augment.py): the
// bytes are equal, except for one gray level where it rounds in another order, and for pixels on the border
// between two where the image is rotated or sheared.
func TestTrivialAugment(t *testing.T) {
	b, err := os.ReadFile("testdata/augment.json")
	if err != nil {
		t.Fatal(err)
	}
	var golden struct {
		Height, Width int
		Cases         []struct {
			Name       string
			Step, Sign int
			Some       []int
			Sum        int
		}
	}
	if err := json.Unmarshal(b, &golden); err != nil {
		t.Fatal(err)
	}
	h, w := golden.Height, golden.Width
	seen := map[string]bool{}
	for _, c := range golden.Cases {
		img := image.NewRGBA(image.Rect(0, 0, w, h))
		eachPixel(img, func(p []byte, x, y int) {
			p[0], p[1], p[2] = byte(40+x+y), byte(200-x), byte(x*y/37%180)
		})
		for _, ch := range changes {
			if ch.name == c.Name || ch.name == "Nothing" && c.Name == changes0 {
				ch.f(img, float64(c.Sign)*ch.most*float64(c.Step)/30)
				seen[ch.name] = true
			}
		}
		flat := fromImage(img, 3).Float32s()
		sum, wrong := 0.0, 0
		for _, v := range flat {
			sum += math.Round(255 * float64(v))
		}
		for i, want := range c.Some {
			if d := math.Round(255*float64(flat[i*13*17])) - float64(want); math.Abs(d) > 1 {
				wrong++
			}
		}
		if wrong > 1 || math.Abs(sum-float64(c.Sum)) > max(0.004*float64(c.Sum), 0.01*float64(3*h*w)) {
			t.Errorf("%s at %d of 30, sign %d: %d of %d pixels differ, the sum is %.0f, want %d", c.Name, c.Step, c.Sign, wrong, len(c.Some), sum, c.Sum)
		}
	}
	if len(seen) != len(changes) {
		t.Errorf("%d of %d changes were compared", len(seen), len(changes))
	}
}

// changes0 is what torchvision calls the change that is none.
const changes0 = "Identity"

// TestPolicies checks that every policy gives images of the right shape and range, equal for equal
// random numbers, and that each changes some images.
func TestPolicies(t *testing.T) {
	x := fromImage(func() *image.RGBA {
		img := image.NewRGBA(image.Rect(0, 0, 20, 16))
		eachPixel(img, func(p []byte, x, y int) { p[0], p[1], p[2] = byte(10*x), byte(15*y), byte(x*y) })
		return img
	}(), 3)
	for _, policy := range []Augmentation{Moderate, NoAugmentation, Light, Strong, Trivial} {
		p := Preprocess{Size: 16, Width: 20, Policy: policy, Crop: 1}
		s := p.Vary(Of(Sample{X: []*tensor.Dense{x}}))
		changed := false
		for seed := range uint64(20) {
			one := func() []float32 {
				got, err := s.At(0, rand.New(rand.NewPCG(seed, 1)))
				if err != nil {
					t.Fatal(err)
				}
				return got.X[0].Float32s()
			}
			a, b := one(), one()
			for i := range a {
				if a[i] != b[i] || !(a[i] >= 0 && a[i] <= 1) {
					t.Fatalf("%q: %v and %v at %d", policy, a[i], b[i], i)
				}
				changed = changed || a[i] != x.Float32s()[i]
			}
		}
		if changed == (policy == NoAugmentation) {
			t.Errorf("%q: changed: %v", policy, changed)
		}
	}
}

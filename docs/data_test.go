package docs_test

import (
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/graft-ml/graft/internal/oracle"
)

// provide makes what stands for a reader's own data.
func provide(t *testing.T, dir, need string) {
	t.Helper()
	switch {
	case need == "flowers":
		flowers(t, filepath.Join(dir, "flowers"), 20, 1)
		flowers(t, filepath.Join(dir, "flowers-test"), 6, 2)
	case strings.HasSuffix(need, ".onnx"): // of the shared models
		model, err := os.ReadFile(oracle.Shared(t, "models", strings.TrimSuffix(need, ".onnx"), "model.onnx"))
		if err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(dir, need), string(model))
	default:
		t.Fatalf("nothing is known of %q", need)
	}
}

// flowers draws pictures of three kinds: a ring of white petals, one of red ones about a red middle, a yellow cup.
func flowers(t *testing.T, dir string, each int, seed uint64) {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 0))
	for _, kind := range []string{"daisy", "rose", "tulip"} {
		for i := range each {
			draw(t, filepath.Join(dir, kind, fmt.Sprintf("%02d.jpg", i)), kind, r)
		}
	}
}

func draw(t *testing.T, name, kind string, r *rand.Rand) {
	t.Helper()
	const size = 96
	picture := image.NewRGBA(image.Rect(0, 0, size, size))
	cx, cy, radius, turn := 40+16*r.Float64(), 40+16*r.Float64(), 18+14*r.Float64(), r.Float64()
	for y := range size {
		for x := range size {
			dx, dy := float64(x)-cx, float64(y)-cy
			distance, angle := math.Hypot(dx, dy)/radius, math.Atan2(dy, dx)+turn
			c := [3]float64{60, 110, 50} // grass
			petal := 0.8 + 0.2*math.Cos(8*angle)
			switch {
			case kind == "daisy" && distance < 0.3:
				c = [3]float64{230, 190, 30}
			case kind == "daisy" && distance < petal:
				c = [3]float64{240, 240, 235}
			case kind == "rose" && distance < 1:
				c = [3]float64{120 + 90*math.Abs(math.Sin(9*distance+angle)), 20, 40}
			case kind == "tulip" && math.Abs(dx) < 0.6*radius && dy < 0.8*radius && dy > -radius*(0.5+0.4*math.Cos(9*dx/radius)):
				c = [3]float64{235, 170, 40}
			}
			for k := range c {
				c[k] = min(max(c[k]+20*r.NormFloat64(), 0), 255)
			}
			picture.Set(x, y, color.RGBA{uint8(c[0]), uint8(c[1]), uint8(c[2]), 255})
		}
	}
	var b strings.Builder
	if err := jpeg.Encode(&b, picture, nil); err != nil {
		t.Fatal(err)
	}
	write(t, name, b.String())
}

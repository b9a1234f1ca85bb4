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
	"github.com/graft-ml/graft/internal/phrase"
)

// provide makes what stands for a reader's own data.
func provide(t *testing.T, dir, need string) {
	t.Helper()
	switch {
	case need == "flowers":
		flowers(t, filepath.Join(dir, "flowers"), 20, 1)
		flowers(t, filepath.Join(dir, "flowers-test"), 6, 2)
	case need == "houses":
		houses(t, filepath.Join(dir, "houses.csv"), 1200, 1)
		houses(t, filepath.Join(dir, "new.csv"), 60, 2)
	case need == "reviews":
		texts(t, phrase.Reviews, dir, "reviews", "tokenizer.json", 240, 1)
		texts(t, phrase.Reviews, dir, "new", "tokenizer.json", 40, 2)
	case need == "sentences":
		texts(t, phrase.Sentences, dir, "sentences", "names.json", 200, 3)
		texts(t, phrase.Sentences, dir, "more", "names.json", 40, 4)
	case need == "houses.onnx" || need == "flowers.onnx": // as other pages train it, in less time
		line := "graft train --new tabular --data houses.csv --target price --column dear=ignore --epochs 10 -o houses.onnx"
		if need == "flowers.onnx" {
			line = "graft new cnn --input 3,48,48 --classes 3 --width 8 -o cnn.onnx && graft train cnn.onnx --data flowers/ --head-only --preset unit -o flowers.onnx && rm cnn.onnx"
		}
		if out, err := shell(dir, line); err != nil {
			t.Fatalf("%s: %v\n%s", line, err, out)
		}
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

// texts writes texts and a tokenizer for them.
func texts(t *testing.T, write func(base, tokenizer string, count int, seed uint64) error, dir, name, tokenizer string, count int, seed uint64) {
	t.Helper()
	if err := write(filepath.Join(dir, name), filepath.Join(dir, tokenizer), count, seed); err != nil {
		t.Fatal(err)
	}
}

// houses writes what houses were sold for, as a European spreadsheet does: some areas are missing.
func houses(t *testing.T, path string, rows int, seed uint64) {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 0))
	var b strings.Builder
	b.WriteString("id;area;city;sold;price;dear\n")
	for i := range rows {
		area, city, dear := 30+200*r.Float64(), r.IntN(3), "no"
		price := 2500*area + 100_000*float64(city)
		if price > 400_000 {
			dear = "yes"
		}
		text := strings.Replace(fmt.Sprintf("%.1f", area), ".", ",", 1)
		if r.Float64() < 0.02 {
			text = ""
		}
		fmt.Fprintf(&b, "h%04d;%s;%s;2020-%02d-11;%.0f;%s\n", i, text, []string{"Oslo", "Rome", "Paris"}[city], 1+r.IntN(12), price, dear)
	}
	write(t, path, b.String())
}

// flowers draws images of three kinds: a ring of white petals, one of red ones about a red middle, a yellow cup.
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
	img := image.NewRGBA(image.Rect(0, 0, size, size))
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
			img.Set(x, y, color.RGBA{uint8(c[0]), uint8(c[1]), uint8(c[2]), 255})
		}
	}
	var b strings.Builder
	if err := jpeg.Encode(&b, img, nil); err != nil {
		t.Fatal(err)
	}
	write(t, name, b.String())
}

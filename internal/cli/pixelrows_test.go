package cli

import (
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/graft-ml/graft/internal/oracle"
	"github.com/graft-ml/graft/train/data"
)

// A gray image in each row of a table, or in arrays of any element type, is prepared like one in a file: 99 % of digits, whichever way they
// come. What is not an image, or would have no effect, is said.
func TestImagesInRows(t *testing.T) {
	model := oracle.Shared(t, "models", "mnist-bn-cnn", "model.onnx")
	images, labels := data.FindIDX(oracle.Shared(t, "data", "mnist"), false)
	digits, err := data.IDX(images, labels)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	var header, first, last, bare strings.Builder
	header.WriteString("label")
	for k := range 784 {
		fmt.Fprintf(&header, ",pixel%d", k)
	}
	header.WriteString("\n")
	const n = 200
	for i := range n {
		s, err := digits.At(i, nil)
		if err != nil {
			t.Fatal(err)
		}
		class := s.Y[0].ScalarValue().(int64)
		var row, unit []string
		for _, v := range s.X[0].Float32s() {
			row, unit = append(row, fmt.Sprint(int(v*255+0.5))), append(unit, fmt.Sprint(v))
		}
		fmt.Fprintf(&first, "%d,%s\n", class, strings.Join(row, ","))
		fmt.Fprintf(&last, "%s,%d\n", strings.Join(unit, ","), class)
		fmt.Fprintln(&bare, strings.Join(row, ","))
	}
	for name, text := range map[string]string{
		"kaggle.csv": header.String() + first.String(), "first.csv": first.String(), "last.csv": last.String(), "bare.csv": bare.String(),
		"wide.csv": header.String() + strings.Replace(first.String(), ",0,", ",300,", 1), "gap.csv": header.String() + strings.Replace(first.String(), ",0,", ",,", 1),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"kaggle.csv", "first.csv", "last.csv", "first.csv --target 0"} {
		out, err := in(dir, "eval "+model+" --data "+name)
		if err != nil || !strings.Contains(out, "accuracy   0.99") && !strings.Contains(out, "accuracy   1\n") {
			t.Errorf("%s: %s%v", name, out, err)
		}
	}
	if out, err := in(dir, "eval "+model+" --data kaggle.csv --preset unit"); err != nil || !strings.Contains(out, "200 samples") || strings.Contains(out, "accuracy   0.9") {
		t.Errorf("--preset unit has no effect: %s%v", out, err) // about 0.6
	}
	expect(t, dir, [][3]string{
		{"eval " + model + " --data kaggle.csv --crop 0.5", "", "the images are 28×28, as the model takes them, so nothing is cropped"},
		{"eval " + model + " --data wide.csv", "", "is not a pixel: want numbers from 0 to 255, or from 0 to 1"},
		{"eval " + model + " --data gap.csv", "", "the pixel is missing"},
		{"predict " + model + " bare.csv --csv", "1,7,", ""},
		{"predict " + model + " kaggle.csv --csv", "1,7,", ""},
		{"train " + model + " --data first.csv --val kaggle.csv --epochs 1 --policy manual -o out.onnx", "200 samples to train on, 200 to validate; classes: 0, 1, 2", ""},
		{"lr-find out.onnx --data last.csv --steps 4", "suggested rate", ""},
	})
}

// A color image in each row, as planes or pixel by pixel, gives the same answers as the image in a file. Whole numbers that index the model's
// scores are classes.
func TestColorsInRows(t *testing.T) {
	dir := t.TempDir()
	if out, err := in(dir, "new cnn --input 3,12,10 --classes 4 --width 4 --depth 1 -o m.onnx"); err != nil {
		t.Fatal(out, err)
	}
	if err := os.Mkdir(filepath.Join(dir, "images"), 0o755); err != nil {
		t.Fatal(err)
	}
	const h, w, n = 12, 10, 5
	var planes, pixels, classes, pixelClasses strings.Builder
	for i := range n {
		img := image.NewRGBA(image.Rect(0, 0, w, h))
		var colors [3][]string
		var each []string
		for y := range h {
			for x := range w {
				c := color.RGBA{uint8(20*x + 5*i), uint8(18*y + 7*i), uint8(200 - 9*x - 8*y), 255}
				img.Set(x, y, c)
				for k, v := range []uint8{c.R, c.G, c.B} {
					each, colors[k] = append(each, fmt.Sprint(v)), append(colors[k], fmt.Sprint(v))
				}
			}
		}
		f, err := os.Create(filepath.Join(dir, "images", fmt.Sprintf("%d.png", i)))
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(png.Encode(f, img), f.Close()); err != nil {
			t.Fatal(err)
		}
		row := strings.Join(slices.Concat(colors[:]...), ",")
		fmt.Fprintln(&planes, row)
		fmt.Fprintln(&pixels, strings.Join(each, ","))
		fmt.Fprintf(&classes, "%s,%d\n", row, i%4)
		fmt.Fprintf(&pixelClasses, "%d,%s\n", i%4, strings.Join(each, ","))
	}
	for name, text := range map[string]string{"planes.csv": planes.String(), "pixels.csv": pixels.String(), "classes.csv": classes.String(), "pixelclasses.csv": pixelClasses.String()} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	answers := func(model, file string) (list []string) {
		out, err := in(dir, "predict "+model+" "+file+" --json --preset unit --top 4")
		list = regexp.MustCompile(`"label".*`).FindAllString(out, -1)
		if err != nil || len(list) != n {
			t.Fatalf("%s: %s%v", file, out, err)
		}
		return list
	}
	want := answers("m.onnx", filepath.Join(dir, "images")+" --crop 1")
	for _, file := range []string{"planes.csv", "pixels.csv"} {
		if got := answers("m.onnx", file); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", file, got, want)
		}
	}
	expect(t, dir, [][3]string{
		{"train m.onnx --data pixelclasses.csv --preset unit --epochs 1 --policy manual --val 0.4 -o out.onnx", "a color image of 12×10 in each row, red, green and blue of each pixel together", ""},
		{"eval m.onnx --data classes.csv --preset unit", "accuracy", ""},
	})
	// With few rows the order is the one that the model was trained on.
	want = answers("out.onnx", filepath.Join(dir, "images")+" --crop 1")
	if got := answers("out.onnx", "pixels.csv"); !slices.Equal(got, want) {
		t.Errorf("after training: %v, want %v", got, want)
	}
	if got := answers("out.onnx", "planes.csv"); slices.Equal(got, want) {
		t.Errorf("after training: the order of the training rows is not used")
	}
}

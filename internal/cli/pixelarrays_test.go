package cli

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/train/data"
	"gorgonia.org/tensor"
)

// spots writes an archive of eight images of 8×8 pixels, bytes, four of them bright above and four below, with the targets y.
func spots(t *testing.T, path, name string, last bool, y *tensor.Dense) {
	t.Helper()
	const n, side = 8, 8
	x := make([]uint8, n*3*side*side)
	for i := range n {
		for k := range 3 * side * side {
			row, channel := k%(side*side)/side, k/(side*side)
			if last {
				row, channel = k/(3*side), k%3
			}
			if (row < side/2) == (i%2 == 0) {
				x[i*3*side*side+k] = uint8(180 + 30*channel)
			}
		}
	}
	shape := []int{n, 3, side, side}
	if last {
		shape = []int{n, side, side, 3}
	}
	archive(t, path, map[string]*tensor.Dense{name: tensor.New(tensor.WithShape(shape...), tensor.WithBacking(x)), "y": y})
}

// TestPixelArrays checks that uint8 arrays with an image shape are prepared like image files by train,
// eval and predict, for any channel axis and any targets.
func TestPixelArrays(t *testing.T) {
	dir := t.TempDir()
	if out, err := in(dir, "new cnn --input 3,8,8 --classes 2 --width 4 --depth 1 -o cnn.onnx"); err != nil {
		t.Fatal(out, err)
	}
	classes := tensor.New(tensor.WithShape(8), tensor.WithBacking([]int64{0, 1, 0, 1, 0, 1, 0, 1}))
	spots(t, filepath.Join(dir, "first.npz"), "x", false, classes)
	spots(t, filepath.Join(dir, "last.npz"), "x", true, classes)
	spots(t, filepath.Join(dir, "short.npz"), "x", true, tensor.New(tensor.WithShape(7), tensor.WithBacking(make([]int64, 7))))
	const train = " --val 0 --epochs 2 --batch 4 --lr 1e-2 --augment none --mean 0.4,0.5,0.6 --std 0.3 --range 1 --force -o out.onnx"
	var answers []string
	for _, data := range []string{"first.npz", "last.npz"} {
		out, err := in(dir, "train cnn.onnx --data "+data+train)
		if err != nil {
			t.Fatal(out, err)
		}
		if out, err = in(dir, "predict out.onnx "+data+" --csv"); err != nil {
			t.Fatal(out, err)
		}
		answers = append(answers, out)
	}
	if answers[0] != answers[1] || strings.Count(answers[0], "\n") != 9 || !strings.Contains(answers[0], ",1,0.") {
		t.Errorf("channels first:\n%slast:\n%s", answers[0], answers[1])
	}
	bytes := make([]float32, 8*3*8*8)
	units := make([]float64, len(bytes))
	read, err := data.Arrays(filepath.Join(dir, "first.npz"))
	if err != nil {
		t.Fatal(err)
	}
	for i, b := range dtype.Elems[uint8](read["x"]) {
		bytes[i], units[i] = float32(b), float64(b)/255
	}
	for name, x := range map[string]any{"bytes.npz": bytes, "units.npz": units} { // the metadata say how images are preprocessed
		archive(t, filepath.Join(dir, name), map[string]*tensor.Dense{"x": tensor.New(tensor.WithShape(8, 3, 8, 8), tensor.WithBacking(x)), "y": classes})
		if out, err := in(dir, "predict out.onnx "+name+" --csv"); err != nil || out != answers[0] {
			t.Errorf("%s: %v, %s, want %s", name, err, out, answers[0])
		}
	}
	for shape, still := range map[*tensor.Dense]bool{classes: false, tensor.New(tensor.WithShape(8, 8, 8), tensor.WithBacking(make([]int64, 512))): true} {
		s, err := pixelSamples("a", tensor.New(tensor.WithShape(8, 8, 8), tensor.WithBacking(make([]uint8, 512))), []*tensor.Dense{shape})
		if err != nil || !s.pixels || s.still != still {
			t.Error(shape.Shape(), s.still, err)
		}
	}
	expect(t, dir, [][3]string{
		{"eval out.onnx --data last.npz", "accuracy   1\n", ""},
		{"train cnn.onnx --data short.npz" + train, "", "short.npz: 8 images, targets of shape [7]: want one for each"},
	})
}

// Whole numbers of any integer type are images as bytes are; floating-point numbers are, too, where a flag about images is given.
func TestImagesOfOtherTypes(t *testing.T) {
	dir := t.TempDir()
	if out, err := in(dir, "new cnn --input 3,8,8 --classes 2 --width 4 --depth 1 -o cnn.onnx"); err != nil {
		t.Fatal(out, err)
	}
	const n = 4 * 8 * 8 * 3
	bytes, ints, floats, units, doubles, signed := make([]uint8, n), make([]int32, n), make([]float32, n), make([]float32, n), make([]float64, n), make([]float32, n)
	for i := range n {
		bytes[i] = uint8(i * 7)
		v := float32(bytes[i])
		ints[i], floats[i], units[i], doubles[i], signed[i] = int32(v), v, v/255, float64(v), v/255-0.5
	}
	want := ""
	for _, c := range []struct {
		name  string
		x     any
		flags string
	}{
		{"bytes", bytes, "--preset imagenet"}, {"ints", ints, "--preset imagenet"}, {"floats", floats, "--preset imagenet"}, {"units", units, "--preset imagenet"}, {"doubles", doubles, "--preset imagenet"},
	} {
		archive(t, filepath.Join(dir, c.name+".npz"), map[string]*tensor.Dense{"x": tensor.New(tensor.WithShape(4, 8, 8, 3), tensor.WithBacking(c.x))})
		out, err := in(dir, "predict cnn.onnx "+c.name+".npz --csv "+c.flags)
		if want == "" {
			want = out
		}
		if err != nil || out != want || strings.Count(out, "\n") != 5 {
			t.Errorf("%s: %q, %v; want %q", c.name, out, err, want)
		}
	}
	archive(t, filepath.Join(dir, "signed.npz"), map[string]*tensor.Dense{"x": tensor.New(tensor.WithShape(4, 3, 8, 8), tensor.WithBacking(signed)), "y": tensor.New(tensor.WithShape(4), tensor.WithBacking([]int64{0, 1, 1, 0}))})
	archive(t, filepath.Join(dir, "levels.npz"), map[string]*tensor.Dense{"x": tensor.New(tensor.WithShape(4, 3, 8, 8), tensor.WithBacking(floats)), "y": tensor.New(tensor.WithShape(4), tensor.WithBacking([]int64{0, 1, 1, 0}))})
	archive(t, filepath.Join(dir, "units.npz"), map[string]*tensor.Dense{"x": tensor.New(tensor.WithShape(4, 3, 8, 8), tensor.WithBacking(units)), "y": tensor.New(tensor.WithShape(4), tensor.WithBacking([]int64{0, 1, 1, 0}))})
	expect(t, dir, [][3]string{
		{"predict cnn.onnx signed.npz --preset unit", "", "the numbers are from -0.5 to 0.5: want images from 0 to 1, or of whole numbers from 0 to 255"},
		{"eval cnn.onnx --data signed.npz", "4 samples", ""},
		{"train cnn.onnx --data units.npz --val 0 --epochs 1 --lr 1e-3 -o out2.onnx", "numbers from 0 to 1 go into the model as they are; --preset preprocesses them as images", ""},
		{"train cnn.onnx --data levels.npz --val 0 --epochs 1 --lr 1e-3 -o out.onnx", "whole numbers from 0 to 255 go into the model as they are; --preset preprocesses them as images", ""},
	})
}

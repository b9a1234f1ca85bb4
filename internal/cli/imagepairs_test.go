package cli

import (
	"fmt"
	"image"
	"image/color"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/layers"
	"github.com/graft-ml/graft/onnxio"
)

// pixelwise writes a model that makes of each pixel so many numbers.
func pixelwise(t *testing.T, path string, out int) {
	t.Helper()
	g := nn.New("pixelwise")
	if err := g.Edit(func(e *nn.Edit) {
		e.Output("y", e.Apply(layers.Conv{Out: out, Kernel: []int{1}, Name: "c"}, e.Input("x", "float32[N,3,8,6]")))
	}); err != nil {
		t.Fatal(err)
	}
	if err := onnxio.Save(path, g); err != nil {
		t.Fatal(err)
	}
}

// paint writes an image of 6×8 pixels.
func paint(t *testing.T, path string, at func(x, y int) color.Color) {
	t.Helper()
	img := image.NewRGBA(image.Rect(0, 0, 6, 8))
	for i := range 48 {
		img.Set(i%6, i/6, at(i%6, i/6))
	}
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
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

func opened(t *testing.T, path string) image.Image {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	img, err := png.Decode(f)
	if err != nil {
		t.Fatal(err)
	}
	return img
}

// TestImagePairs checks that target images are paired with input images by name, and that the
// model's outputs are written as images.
func TestImagePairs(t *testing.T) {
	dir := t.TempDir()
	pixelwise(t, filepath.Join(dir, "m.onnx"), 3)
	for i := range 12 {
		level := func(x, y int) uint8 { return uint8(20*i + 3*x) }
		paint(t, filepath.Join(dir, "d/images", fmt.Sprintf("%d.png", i)), func(x, y int) color.Color { return color.RGBA{level(x, y), 90, 40, 255} })
		paint(t, filepath.Join(dir, "d/targets", fmt.Sprintf("%d.png", i)), func(x, y int) color.Color { return color.RGBA{255 - level(x, y), 200, 30, 255} })
	}
	const how = " --val 0.25 --epochs 100 --batch 3 --lr 3e-2 --preset unit --augment none --force -o out.onnx"
	out, err := in(dir, "train m.onnx --data d/"+how)
	if err != nil || !strings.Contains(out, "9 samples to train on, 3 to validate\n") {
		t.Fatal(out, err)
	}
	out, err = in(dir, "eval out.onnx --data d/ --json --worst 2")
	var found struct {
		Samples int
		Metrics map[string]float64
		Worst   []struct{ Sample string }
	}
	if last(t, out, &found); err != nil || found.Samples != 12 || found.Metrics["r2"] < 0.98 || len(found.Worst) != 2 || !strings.HasSuffix(found.Worst[0].Sample, ".png") {
		t.Error(out, err)
	}
	if out, err = in(dir, "predict out.onnx d/images/ --json -o answers/"); err != nil {
		t.Fatal(out, err)
	}
	files, _ := filepath.Glob(filepath.Join(dir, "answers", "*d_images_4.image.png"))
	if len(files) != 1 {
		t.Fatal(out)
	}
	if r, g, b, _ := opened(t, files[0]).At(2, 3).RGBA(); r>>8 < 255-86-20 || r>>8 > 255-86+20 || g>>8 < 180 || g>>8 > 220 || b>>8 > 50 {
		t.Error(r>>8, g>>8, b>>8)
	}
	if err := os.WriteFile(filepath.Join(dir, "d/targets/7.png"), []byte("no image"), 0o644); err != nil {
		t.Fatal(err)
	}
	pixelwise(t, filepath.Join(dir, "two.onnx"), 2)
	expect(t, dir, [][3]string{
		{"train m.onnx --data d/" + how, "", "1 of 12 images are corrupt, --skip-bad 0.09 leaves them out:"},
		{"train m.onnx --data d/ --skip-bad 0.1" + how, "8 samples to train on, 3 to validate", ""},
		{"train two.onnx --data d/ --skip-bad 0.1" + how, "", "want 1 or 3 channels"},
	})
	if err := os.Remove(filepath.Join(dir, "d/targets/7.png")); err != nil {
		t.Fatal(err)
	}
	expect(t, dir, [][3]string{{"train m.onnx --data d/" + how, "", "7.png has no image with the same name in "}})
}

// A model with one score for each pixel learns masks in black and white, and answers with masks.
func TestOneScoreMasks(t *testing.T) {
	dir := t.TempDir()
	pixelwise(t, filepath.Join(dir, "m.onnx"), 1)
	for i := range 12 {
		bright := func(x, y int) bool { return x > i%5 }
		paint(t, filepath.Join(dir, "d/images", fmt.Sprintf("%d.png", i)), func(x, y int) color.Color {
			if bright(x, y) {
				return color.RGBA{220, 90, 40, 255}
			}
			return color.RGBA{60, 90, 140, 255}
		})
		paint(t, filepath.Join(dir, "d/masks", fmt.Sprintf("%d.png", i)), func(x, y int) color.Color {
			if bright(x, y) {
				return color.White
			}
			return color.Black
		})
		paint(t, filepath.Join(dir, "three/images", fmt.Sprintf("%d.png", i)), func(x, y int) color.Color { return color.White })
		paint(t, filepath.Join(dir, "three/masks", fmt.Sprintf("%d.png", i)), func(x, y int) color.Color { return color.Gray{uint8(x % 3)} })
		paint(t, filepath.Join(dir, "void/images", fmt.Sprintf("%d.png", i)), func(x, y int) color.Color { return color.White })
		paint(t, filepath.Join(dir, "void/masks", fmt.Sprintf("%d.png", i)), func(x, y int) color.Color { return color.Gray{[]uint8{0, 1, 255}[x%3]} })
	}
	const how = " --val 0.25 --epochs 20 --batch 3 --lr 1e-1 --preset unit --augment none --force -o out.onnx"
	if out, err := in(dir, "train m.onnx --data d/"+how); err != nil {
		t.Fatal(out, err)
	}
	out, err := in(dir, "eval out.onnx --data d/ --json")
	var found struct{ Metrics map[string]float64 }
	if last(t, out, &found); err != nil || found.Metrics["accuracy"] != 1 {
		t.Error(out, err)
	}
	if out, err = in(dir, "predict out.onnx d/images/ -o answers/"); err != nil {
		t.Fatal(out, err)
	}
	files, _ := filepath.Glob(filepath.Join(dir, "answers", "*d_images_2.mask.png"))
	if len(files) != 1 {
		t.Fatal(out)
	}
	img, ok := opened(t, files[0]).(*image.Paletted)
	if !ok || img.ColorIndexAt(2, 0) != 0 || img.ColorIndexAt(3, 0) != 1 || img.ColorIndexAt(3, 7) != 1 {
		t.Error(files[0])
	}
	expect(t, dir, [][3]string{
		{"train m.onnx --data three/" + how, "", "has masks of 3 classes, the model gives y float32[N,1,8,6]: want a score for each class of each pixel, or one of black and white"},
		{"train m.onnx --data void/" + how, "", "a mask has pixels without a class, which a model with one score does not take: want black and white, or a model with a score for each class"},
	})
}

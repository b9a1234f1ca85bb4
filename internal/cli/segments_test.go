package cli

import (
	"fmt"
	"image"
	"image/color"
	"image/png"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/layers"
	"github.com/graft-ml/graft/onnxio"
)

// squares writes images with a red or green square each, and masks of their classes.
func squares(t *testing.T, dir string, n int) {
	t.Helper()
	colors := color.Palette{color.RGBA{20, 20, 40, 255}, color.RGBA{220, 30, 30, 255}, color.RGBA{30, 220, 30, 255}}
	for _, d := range []string{"images", "masks"} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for i := range n {
		img, mask := image.NewRGBA(image.Rect(0, 0, 16, 16)), image.NewPaletted(image.Rect(0, 0, 16, 16), colors)
		for k := range 256 {
			x, y, c := k%16, k/16, 0
			if x >= 2+i%5 && x < 9+i%5 && y >= 1+i%7 && y < 8+i%7 {
				c = 1 + i%2
			}
			img.Set(x, y, colors[c])
			mask.SetColorIndex(x, y, uint8(c))
		}
		for d, m := range map[string]image.Image{"images": img, "masks": mask} {
			if err := onnxio.WriteFile(filepath.Join(dir, d, fmt.Sprintf("%03d.png", i)), func(w io.Writer) error { return png.Encode(w, m) }); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// A folder of images and masks: a model with scores for each pixel learns them, is evaluated and predicts.
func TestMasks(t *testing.T) {
	dir := t.TempDir()
	squares(t, filepath.Join(dir, "seg"), 40)
	g := nn.New("seg")
	if err := g.Edit(func(e *nn.Edit) {
		x := e.Input("x", "float32[N,3,16,16]")
		e.Output("y", e.Apply(nn.Sequential{layers.Conv{Out: 8, Kernel: []int{3}, Same: true}, layers.ReLU{}, layers.Conv{Out: 3, Kernel: []int{1}}}, x))
	}); err != nil {
		t.Fatal(err)
	}
	if err := onnxio.Save(filepath.Join(dir, "seg.onnx"), g); err != nil {
		t.Fatal(err)
	}
	classifier(t, filepath.Join(dir, "two.onnx"), 3, 2)
	cnn(t, dir)
	expect(t, dir, [][3]string{
		{"train seg.onnx --data seg/ --preset unit --lr 0.02 --epochs 12 --batch 8 -o out.onnx", "36 samples to train on, 4 to validate", ""},
		{"eval out.onnx --data seg/ --metric accuracy --metric confusion", "iou        ", ""},
		{"eval out.onnx --data seg/ --worst 2 --per-class -o page.html", "images/0", ""},
		{"predict out.onnx seg/images/ -o drawn/", ".mask.png", ""},
		{"train two.onnx --data seg/ -o no.onnx", "", "holds images, which are for models with one input [N,C,H,W]"},
		{"train cnn.onnx --data seg/ -o no.onnx", "", "holds masks, the model gives y float32[N,3]: want scores for each pixel, [N, classes, height, width]"},
	})
	for _, name := range []string{"images/003.png", "masks/007.png"} {
		if err := os.WriteFile(filepath.Join(dir, "seg", name), []byte("nothing"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	expect(t, dir, [][3]string{
		{"train seg.onnx --data seg/ -o no.onnx", "", "2 of 40 images are corrupt, --skip-bad 0.05 leaves them out:\n  "},
		{"train seg.onnx --data seg/ --preset unit --skip-bad 0.05 --lr 0.02 --epochs 1 -o skipped.onnx", "34 samples to train on, 4 to validate", ""},
		{"eval out.onnx --data seg/", "", "2 of 40 images are corrupt"},
		{"eval out.onnx --data seg/ --skip-bad 0.05", "38 samples", ""},
	})
}

package cli

import (
	"fmt"
	"image"
	"image/color"
	"image/png"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/layers"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/std"
	"github.com/graft-ml/graft/onnxio"
)

// openModels writes models of gray images of any size: same has an output of that size, half halves it and doubles it
// again, large doubles it. class and deep are classifiers that halve it once and twice.
func openModels(t *testing.T, dir string) {
	t.Helper()
	conv := func(out, stride int) nn.Layer {
		return layers.Conv{Out: out, Kernel: []int{3}, Stride: []int{stride}, Same: true}
	}
	double := func(e *nn.Edit, x *nn.Value) *nn.Value { return e.Node(std.DepthToSpaceConfig{BlockSize: 2}, x).Out(0) }
	for name, build := range map[string]func(e *nn.Edit, x *nn.Value) *nn.Value{
		"same": func(e *nn.Edit, x *nn.Value) *nn.Value { return e.Apply(conv(1, 1), x) },
		"half": func(e *nn.Edit, x *nn.Value) *nn.Value {
			return e.Node(op.Plain("Add"), x, double(e, e.Apply(conv(4, 2), x))).Out(0)
		},
		"large": func(e *nn.Edit, x *nn.Value) *nn.Value { return double(e, e.Apply(conv(4, 1), x)) },
		"two":   func(e *nn.Edit, x *nn.Value) *nn.Value { return e.Apply(conv(2, 1), x) },
		"class": func(e *nn.Edit, x *nn.Value) *nn.Value {
			return e.Apply(nn.Sequential{conv(4, 2), layers.GlobalAvgPool{}, layers.Flatten{}, layers.Linear{Out: 2}}, x)
		},
		"deep": func(e *nn.Edit, x *nn.Value) *nn.Value {
			return e.Apply(nn.Sequential{conv(4, 2), conv(4, 2), layers.GlobalAvgPool{}, layers.Flatten{}, layers.Linear{Out: 2}}, x)
		},
	} {
		g := nn.New(name)
		if err := g.Edit(func(e *nn.Edit) { e.Output("y", build(e, e.Input("x", "float32[N,1,H,W]"))) }); err != nil {
			t.Fatal(name, err)
		}
		if err := onnxio.Save(filepath.Join(dir, name+".onnx"), g); err != nil {
			t.Fatal(err)
		}
	}
}

// Images that all have one size are taken at that size by models that leave it open, or at the next that their strides
// take; predictions have the size of the image, or as many times that as the output is larger than the input.
func TestOpenSize(t *testing.T) {
	dir := t.TempDir()
	openModels(t, dir)
	paintSized := func(path string, w, h int) {
		img := image.NewGray(image.Rect(0, 0, w, h))
		for i := range img.Pix {
			img.Pix[i] = uint8(37 * i)
		}
		path = filepath.Join(dir, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := onnxio.WriteFile(path, func(w io.Writer) error { return png.Encode(w, img) }); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 8 {
		paintSized(fmt.Sprintf("odd/images/%d.png", i), 9, 13)
		paintSized(fmt.Sprintf("odd/targets/%d.png", i), 9, 13)
		paintSized(fmt.Sprintf("classes/%d/%d.png", i%2, i), 9, 13)
		paintSized(fmt.Sprintf("twice/images/%d.png", i), 9, 13)
		paintSized(fmt.Sprintf("twice/targets/%d.png", i), 18, 26)
		paint(t, filepath.Join(dir, fmt.Sprintf("seg/masks/%d.png", i)), func(x, y int) color.Color { return color.Gray{uint8(x % 2)} })
		paint(t, filepath.Join(dir, fmt.Sprintf("seg/images/%d.png", i)), func(x, y int) color.Color { return color.Gray{uint8(200 * (x % 2))} })
	}
	paintSized("other/wide.png", 30, 20)
	const how = " --val 0.25 --epochs 1 --batch 4 --lr 1e-3 --augment none --force -o "
	expect(t, dir, [][3]string{
		{"train same.onnx --data odd/" + how + "same-out.onnx", "images: all of 13×9 pixels, which the model, open in size, takes as they are; --size takes another size\n", ""},
		{"train half.onnx --data odd/" + how + "half-out.onnx", "images: all of 13×9 pixels, scaled to 14×10: the network's strides take multiples of 2; --size", ""},
		{"train half.onnx --data odd/ --size 9x12" + how + "no.onnx", "", "--size 9x12: the network's strides take multiples of 2: want --size 10x12 ("},
		{"train half.onnx --data odd/ --crop 0.9" + how + "no.onnx", "", "--crop is for models that answer for the image as a whole"},
		{"train large.onnx --data twice/" + how + "large-out.onnx", "images: unit, as is usual for outputs that are images; a guess\n          13×9 gray NCHW, crop 1", ""},
		{"train two.onnx --data seg/" + how + "two-out.onnx", "8×6 gray NCHW, crop 1", ""},
		{"train class.onnx --data classes/" + how + "class-out.onnx", "images: all of 13×9 pixels, which the model, open in size, takes as they are; --size takes another size\n", ""},
		{"train deep.onnx --data classes/" + how + "deep-out.onnx", "224×224 gray NCHW", ""},
		{"eval two-out.onnx --data seg/", "8 samples", ""},
		{"predict same-out.onnx odd/images/0.png other/wide.png -o out/same/", "wide.image.png", ""},
		{"predict half-out.onnx odd/images/0.png other/wide.png -o out/half/", "wide.image.png", ""},
		{"predict large-out.onnx twice/images/0.png other/wide.png -o out/large/", "wide.image.png", ""},
		{"predict two-out.onnx seg/images/0.png other/wide.png -o out/two/", "wide.mask.png", ""},
		{"predict half.onnx odd/images/0.png -o out/fresh/", "0.image.png", ""},
	})
	for pattern, want := range map[string]image.Point{
		"same/*0.image.png": {9, 13}, "same/*wide.image.png": {30, 20}, "half/*0.image.png": {9, 13}, "half/*wide.image.png": {30, 20},
		"large/*0.image.png": {18, 26}, "large/*wide.image.png": {60, 40}, "two/*0.mask.png": {6, 8}, "two/*wide.mask.png": {30, 20},
		"fresh/*0.image.png": {9, 13},
	} {
		files, _ := filepath.Glob(filepath.Join(dir, "out", pattern))
		if len(files) != 1 {
			t.Error(pattern, files)
			continue
		}
		if got := opened(t, files[0]).Bounds().Size(); got != want {
			t.Errorf("%s: %v, want %v", pattern, got, want)
		}
	}
}

// Values from PyTorch: interpolate(mode="bilinear", align_corners=False).
func TestResampled(t *testing.T) {
	v := []float64{9, 9, 9, 9, 9, 9, 1, 5, 2, 4, 0, 7} // two channels
	for _, c := range []struct {
		size image.Point
		want string
	}{
		{image.Pt(6, 4), "1 2 4 4.25 2.75 2 1.75 2.25 3.25 3.625 3.375 3.25 3.25 2.75 1.75 2.375 4.625 5.75 4 3 1 1.75 5.25 7"},
		{image.Pt(5, 3), "1 2.6 5 3.2 2 2.5 2.5 2.5 3.7 4.5 4 2.4 0 4.2 7"},
		{image.Pt(2, 1), "2.5 4"},
	} {
		r, got := resampled(v, 2, 3, c.size), []string(nil)
		for i := range c.size.X * c.size.Y {
			got = append(got, fmt.Sprint(math.Round(1e5*r.at(1, i/c.size.X, i%c.size.X))/1e5))
		}
		if s := strings.Join(got, " "); s != c.want {
			t.Errorf("%v: %s, want %s", c.size, s, c.want)
		}
	}
}

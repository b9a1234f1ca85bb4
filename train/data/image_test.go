package data_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/graft-ml/graft/train/data"
)

// TestTorchvision compares with Resize(36), CenterCrop(32), ToTensor and
// Normalize. Both round to bytes, torchvision after each direction: one grey
// level of 255, in units of a deviation near 0.225, is allowed.
func TestTorchvision(t *testing.T) {
	p := data.ImageNet
	p.Size = 32
	for _, name := range []string{"wide", "tall", "small"} {
		want, err := data.NPY("testdata/" + name + ".npy")
		if err != nil {
			t.Fatal(err)
		}
		got, err := p.Open("testdata/" + name + ".png")
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got.Shape(), []int{1, 3, 32, 32}) {
			t.Fatalf("shape %v", got.Shape())
		}
		worst, sum := 0.0, 0.0
		for i, v := range got.Float32s() {
			d := math.Abs(float64(v-want.Float32s()[i])) * 0.225 * 255
			worst, sum = max(worst, d), sum+d
		}
		if mean := sum / (3 * 32 * 32); worst > 1.05 || mean > 0.33 {
			t.Errorf("%s: off by %.2f grey levels at worst, %.3f on average", name, worst, mean)
		}
	}
}

// flat returns an image of one colour with a white left column.
func flat(w, h int, c color.NRGBA) *image.NRGBA {
	img := image.NewNRGBA(image.Rect(0, 0, w, h))
	for y := range h {
		for x := range w {
			img.SetNRGBA(x, y, c)
		}
		img.SetNRGBA(0, y, color.NRGBA{255, 255, 255, 255})
	}
	return img
}

func TestPresets(t *testing.T) {
	img := flat(4, 4, color.NRGBA{51, 102, 204, 255})
	at := func(p data.Preprocess) []float64 {
		t.Helper()
		p.Size, p.Crop = 4, 1
		x, err := p.Image(img)
		if err != nil {
			t.Fatal(err)
		}
		v, pixel := []float64{}, 5 // row 1, column 1
		for c := range 3 {
			if p.NHWC {
				v = append(v, float64(x.Float32s()[3*pixel+c]))
			} else {
				v = append(v, float64(x.Float32s()[16*c+pixel]))
			}
		}
		return v
	}
	last := data.ImageNet
	last.NHWC = true
	for name, c := range map[string]struct {
		p    data.Preprocess
		want []float64
	}{
		"imagenet":      {data.ImageNet, []float64{(0.2 - 0.485) / 0.229, (0.4 - 0.456) / 0.224, (0.8 - 0.406) / 0.225}},
		"channels last": {last, []float64{(0.2 - 0.485) / 0.229, (0.4 - 0.456) / 0.224, (0.8 - 0.406) / 0.225}},
		"caffe":         {data.Caffe, []float64{204 - 103.939, 102 - 116.779, 51 - 123.68}},
		"unit":          {data.Unit, []float64{0.2, 0.4, 0.8}},
		"raw":           {data.Raw, []float64{51, 102, 204}},
	} {
		for i, v := range at(c.p) {
			if math.Abs(v-c.want[i]) > 1e-5*max(1, math.Abs(c.want[i])) {
				t.Errorf("%s: channel %d is %v, want %v", name, i, v, c.want[i])
			}
		}
	}
	x, err := data.Preprocess{Size: 4, Crop: 1, Gray: true, Range: 255}.Image(img)
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(x.Shape(), x.Float32s()[5], x.Float32s()[4]); got != "(1, 4, 4) 98 255" { // 0.299·51 + 0.587·102 + 0.114·204
		t.Error(got)
	}
}

func TestAugment(t *testing.T) {
	path := write(t, "a.png", encode(t, flat(40, 30, color.NRGBA{0, 0, 0, 255})))
	p := data.Preprocess{Size: 16, Width: 20, MinArea: 1}
	seen := map[string]bool{}
	for i := range 20 {
		a, err := p.Augment(data.ImageFile{Path: path, Class: 3}, data.Rand(1, 0, i))
		if err != nil {
			t.Fatal(err)
		}
		b, err := p.Augment(data.ImageFile{Path: path, Class: 3}, data.Rand(1, 0, i))
		if err != nil {
			t.Fatal(err)
		}
		x := a.X[0].Float32s()
		if !slices.Equal(x, b.X[0].Float32s()) {
			t.Fatal("same chance, other image")
		}
		if !slices.Equal(a.X[0].Shape(), []int{3, 16, 20}) || a.Y[0].Int64s()[0] != 3 {
			t.Fatalf("shape %v, class %v", a.X[0].Shape(), a.Y[0])
		}
		seen[fmt.Sprint(x[0] > 0, x[19] > 0)] = true
	}
	if !seen["true false"] || !seen["false true"] {
		t.Errorf("white column seen at %v, want left and right", slices.Collect(maps.Keys(seen)))
	}
	p.NoFlip = true
	for i := range 20 {
		if a, err := p.Augment(data.ImageFile{Path: path}, data.Rand(1, 0, i)); err != nil || a.X[0].Float32s()[19] > 0 {
			t.Errorf("mirrored although NoFlip, or error %v", err)
		}
	}
	plain, err := p.Eval(data.ImageFile{Path: path, Class: -1}, nil)
	if err != nil || len(plain.Y) != 0 {
		t.Fatalf("class −1: %v, error %v", plain.Y, err)
	}
	same, err := p.Augment(data.ImageFile{Path: path, Class: -1}, nil)
	if err != nil || !slices.Equal(plain.X[0].Float32s(), same.X[0].Float32s()) {
		t.Errorf("without chance Augment must be Eval; error %v", err)
	}
}

func encode(t *testing.T, img image.Image) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, img); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestOddImages(t *testing.T) {
	var jpg bytes.Buffer
	if err := jpeg.Encode(&jpg, flat(30, 20, color.NRGBA{200, 0, 0, 255}), nil); err != nil {
		t.Fatal(err)
	}
	sliver := flat(4000, 1, color.NRGBA{9, 9, 9, 255})
	one := flat(1, 1, color.NRGBA{})
	for name, b := range map[string][]byte{"photo.jpg": jpg.Bytes(), "sliver.png": encode(t, sliver), "one.png": encode(t, one), "named.gif": encode(t, one)} {
		path := write(t, name, b)
		for i := range 5 {
			if _, err := (data.Preprocess{Size: 10}).Augment(data.ImageFile{Path: path}, data.Rand(1, 0, i)); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		if x, err := (data.Preprocess{Size: 10}).Open(path); err != nil || !slices.Equal(x.Shape(), []int{1, 3, 10, 10}) {
			t.Errorf("%s: %v", name, err)
		}
	}
	whole := encode(t, flat(50, 50, color.NRGBA{1, 2, 3, 255}))
	bomb := slices.Clone(whole)
	copy(bomb[16:24], []byte{0, 3, 0, 0, 0, 3, 0, 0}) // size in the header, whose checksum follows
	binary.BigEndian.PutUint32(bomb[29:], crc32.ChecksumIEEE(bomb[12:29]))
	for name, c := range map[string]struct {
		b    []byte
		want string
	}{
		"empty.png": {nil, "the file is empty"},
		"text.jpg":  {[]byte("no image"), "unknown format"},
		"cut.png":   {whole[:len(whole)/2], "not enough pixel data"},
		"cut.jpg":   {jpg.Bytes()[:jpg.Len()/2], "the file is truncated"},
		"bomb.png":  {bomb, "image of 196608×196608 pixels, want 1 to 134217728 in all"},
	} {
		path := write(t, name, c.b)
		_, err := data.Unit.Open(path)
		wants(t, err, path, c.want)
	}
	_, err := data.Unit.Open("nowhere.png")
	wants(t, err, "nowhere.png", "no such file")
	if _, err := data.Unit.Image(nil); err == nil {
		t.Error("nil image accepted")
	}
	if _, err := data.Unit.Image(image.NewGray(image.Rectangle{})); err == nil {
		t.Error("empty image accepted")
	}
}

func TestCheck(t *testing.T) {
	nan := math.NaN()
	for want, p := range map[string]data.Preprocess{
		"size -1×-1, want":                        {Size: -1},
		"size 100000×100000":                      {Size: 100000},
		"crop is 2, want":                         {Crop: 2},
		"crop is 0.001, want":                     {Crop: 0.001},
		"mean has 2 values, want 1 or 3":          {Mean: []float64{1, 2}},
		"mean has 3 values, want 1 or 1":          {Mean: []float64{1, 2, 3}, Gray: true},
		"std is [1 0 1]":                          {Std: []float64{1, 0, 1}},
		"mean is [NaN]":                           {Mean: []float64{nan}},
		"range is NaN":                            {Range: nan},
		"least area is 1.5, want a fraction in (": {MinArea: 1.5},
	} {
		if err := p.Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
		if _, err := p.Open("testdata/small.png"); err == nil {
			t.Errorf("%+v: Open accepted it", p)
		}
	}
}

func TestMeta(t *testing.T) {
	for _, p := range []data.Preprocess{data.ImageNet, data.Caffe, data.Unit, data.Raw, {Size: 28, Width: 30, Crop: 1, Gray: true, NHWC: true, Mean: []float64{0.1}}} {
		meta, err := p.Meta()
		if err != nil {
			t.Fatal(err)
		}
		back, ok, err := data.ReadMeta(meta)
		if err != nil || !ok || fmt.Sprint(back) != fmt.Sprint(p) {
			t.Errorf("%v came back as %v, %v, error %v", p, back, ok, err)
		}
	}
	if _, ok, err := data.ReadMeta(map[string]string{"author": "x"}); ok || err != nil {
		t.Errorf("no keys: %v, error %v", ok, err)
	}
	onnx := func(format, span string) map[string]string {
		return map[string]string{"Image.BitmapPixelFormat": format, "Image.NominalPixelRange": span, "Image.ColorSpaceGamma": "SRGB"}
	}
	for _, c := range []struct {
		format, span, want string
	}{
		{"Rgb8", "NominalRange_0_255", "224×224 RGB NCHW, crop 0.875, 0…255"},
		{"Bgr8", "Normalized_0_1", "224×224 BGR NCHW, crop 0.875, 0…1"},
		{"Gray8", "Normalized_1_1", "224×224 gray NCHW, crop 0.875, 0…1, mean [0.5], std [0.5]"},
		{"Rgb8", "NominalRange_16_235", "224×224 RGB NCHW, crop 0.875, 0…219, mean [-16]"},
	} {
		p, ok, err := data.ReadMeta(onnx(c.format, c.span))
		if err != nil || !ok || p.String() != c.want {
			t.Errorf("%v, %v, error %v, want %s", p, ok, err, c.want)
		}
	}
	for want, meta := range map[string]map[string]string{
		`Image.BitmapPixelFormat: "Bgra8" is not supported`: onnx("Bgra8", "Normalized_0_1"),
		"metadata graft.preprocess: unexpected EOF":         {"graft.preprocess": `{"size":`},
		`unknown field "zoom"`:                              {"graft.preprocess": `{"zoom":1}`},
		"size -3×-3, want":                                  {"graft.preprocess": `{"size":-3}`},
	} {
		if _, _, err := data.ReadMeta(meta); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}

func TestGuess(t *testing.T) {
	for _, c := range []struct {
		dims []int
		want string
	}{
		{[]int{1, 3, 224, 224}, "224×224 RGB NCHW, crop 0.875, 0…1, mean [0.485 0.456 0.406], std [0.229 0.224 0.225]"},
		{[]int{0, 240, 320, 3}, "240×320 RGB NHWC, crop 0.875, 0…1, mean [0.485 0.456 0.406], std [0.229 0.224 0.225]"},
		{[]int{-1, 1, 28, 28}, "28×28 gray NCHW, crop 1, 0…1"},
		{[]int{-1, 3, -1, -1}, "224×224 RGB NCHW, crop 0.875, 0…1, mean [0.485 0.456 0.406], std [0.229 0.224 0.225]"},
	} {
		if p, err := data.Guess(c.dims); err != nil || p.String() != c.want {
			t.Errorf("%v: %v, error %v, want %s", c.dims, p, err, c.want)
		}
	}
	for _, dims := range [][]int{nil, {1, 4}, {1, 7, 8, 9}} {
		if _, err := data.Guess(dims); err == nil {
			t.Errorf("%v accepted", dims)
		}
	}
}

// tree writes images of class folders under a new directory.
func tree(t *testing.T, files ...string) string {
	t.Helper()
	root := t.TempDir()
	for i, f := range files {
		path := filepath.Join(root, f)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		b := []byte("not an image")
		if strings.HasSuffix(f, ".png") {
			b = encode(t, flat(6, 5, color.NRGBA{uint8(i), 0, 0, 255}))
		}
		if err := os.WriteFile(path, b, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func classes(s data.Dataset[data.Sample], t *testing.T) (out []int64) {
	t.Helper()
	for b, err := range (data.BatchLoader{Batch: 100}).Batches(t.Context(), s, 0) {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, b.Y[0].Int64s()...)
	}
	return out
}

func TestFolder(t *testing.T) {
	small := data.Preprocess{Size: 4}
	var files []string
	for i := range 10 {
		files = append(files, fmt.Sprintf("rose/%d.png", i))
	}
	files = append(files, "lily/1.png", "lily/sub/2.PNG.png", "lily/.hidden.png", "lily/notes.txt", ".git/x.png", "README.md", "aster/1.png")
	f, err := data.Folder(tree(t, files...))
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(f.Classes, []string{"aster", "lily", "rose"}) || len(f.Items) != 13 || f.Val != nil {
		t.Fatalf("classes %q, %d images", f.Classes, len(f.Items))
	}
	fit, val := f.Split(0.3, small)
	if got := fmt.Sprint(classes(val, t), classes(fit, t)); got != "[1 2 2 2] [0 1 2 2 2 2 2 2 2]" {
		t.Errorf("validation and training classes %s", got)
	}
	if n := f.All(small).Len(); n != 13 {
		t.Errorf("%d images in all", n)
	}
	if fit, val := f.Split(1, small); fit.Len() != 3 || val.Len() != 10 {
		t.Errorf("share 1: %d and %d", fit.Len(), val.Len())
	}
	if fit, val := f.Split(0, small); fit.Len() != 13 || val.Len() != 0 {
		t.Errorf("share 0: %d and %d", fit.Len(), val.Len())
	}

	f, err = data.Folder(tree(t, "train/b/1.png", "train/a/1.png", "val/b/1.png", "val/b/2.png"))
	if err != nil {
		t.Fatal(err)
	}
	fit, val = f.Split(0.9, small)
	if got := fmt.Sprint(f.Classes, classes(fit, t), classes(val, t)); got != "[a b] [0 1] [1 1]" {
		t.Error(got)
	}
	if f, err = data.Folder(tree(t, "train/a/1.png", "plane/1.png")); err != nil || !slices.Equal(f.Classes, []string{"plane", "train"}) {
		t.Errorf("a class named train: %v, error %v", f, err)
	}

	for want, root := range map[string]string{
		"no class folders in it":         tree(t, "1.png"),
		"no images in it":                tree(t, "a/1.png", "b/readme.txt"),
		`class "c" is not in`:            tree(t, "train/a/1.png", "val/c/1.png"),
		"train: no class folders in it":  tree(t, "train/1.png", "val/c/1.png"),
		"nowhere: no such file or direc": "nowhere",
	} {
		_, err := data.Folder(root)
		wants(t, err, root, want)
	}
	f, err = data.Folder(tree(t, "a/1.png", "a/bad.jpg"))
	if err != nil {
		t.Fatal(err)
	}
	var last error
	for _, last = range (data.BatchLoader{}).Batches(t.Context(), f.All(small), 0) {
	}
	if last == nil || !strings.Contains(last.Error(), "bad.jpg: image: unknown format") || strings.Count(last.Error(), "data: ") > 1 {
		t.Errorf("error %v, want one that names bad.jpg", last)
	}
}

package data

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gorgonia.org/tensor"
)

func painted(t *testing.T, path string, img image.Image) {
	t.Helper()
	var b bytes.Buffer
	err := png.Encode(&b, img)
	if err == nil {
		err = os.MkdirAll(filepath.Dir(path), 0o755)
	}
	if err == nil {
		err = os.WriteFile(path, b.Bytes(), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestNPYHeaders checks headers of NumPy files at the limits.
func TestNPYHeaders(t *testing.T) {
	file := func(version byte, header string, elements ...float64) []byte {
		b := append([]byte("\x93NUMPY"), version, 0)
		if version > 1 {
			b = binary.LittleEndian.AppendUint32(b, uint32(len(header)))
		} else {
			b = binary.LittleEndian.AppendUint16(b, uint16(len(header)))
		}
		b = append(b, header...)
		for _, v := range elements {
			b = binary.LittleEndian.AppendUint64(b, math.Float64bits(v))
		}
		return b
	}
	head := func(fortran, shape string) string {
		return "{'descr': '<f8', 'fortran_order': " + fortran + ", 'shape': (" + shape + "), }"
	}
	ten := []float64{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}
	for name, c := range map[string]struct {
		b     []byte
		shape []int
		want  []float64
		fails string
	}{
		"ten":             {file(1, head("False", "10,"), ten...), []int{10}, ten, ""},
		"columns first":   {file(1, head("True", "2, 3"), 0, 3, 1, 4, 2, 5), []int{2, 3}, ten[:6], ""},
		"long header":     {file(2, fmt.Sprintf("%-65536s", head("False", "1,")), 7), []int{1}, []float64{7}, ""},
		"longer header":   {file(2, fmt.Sprintf("%-65537s", head("False", "1,")), 7), nil, nil, "header of 65537 bytes"},
		"a huge axis":     {file(1, head("False", "99999999999999999999,")), nil, nil, "shape (99999999999999999999,): strconv.Atoi"},
		"cut in the size": {[]byte("\x93NUMPY\x01\x00\x10"), nil, nil, "truncated in the header"},
	} {
		got, err := readNPY(bytes.NewReader(c.b))
		if c.fails != "" {
			if err == nil || !strings.HasPrefix(err.Error(), c.fails) {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if err != nil || !slices.Equal(got.Shape(), c.shape) || !slices.Equal(got.Float64s(), c.want) {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
	path := filepath.Join(t.TempDir(), "a.npz")
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	w, err := z.CreateRaw(&zip.FileHeader{Name: "x.npy", Method: 99, CompressedSize64: 1, UncompressedSize64: 1})
	if err == nil {
		_, err = w.Write([]byte{0})
	}
	if err == nil {
		err = z.Close()
	}
	if err == nil {
		err = os.WriteFile(path, b.Bytes(), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Arrays(path); !errors.Is(err, zip.ErrAlgorithm) || !strings.Contains(err.Error(), "a.npz: x.npy: ") {
		t.Error(err)
	}
	if _, err := NPZ(path+".none", "x", "y"); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}

// Two arrays of one name are no archive that NumPy writes: which of them is meant is not known.
func TestArraysOfOneName(t *testing.T) {
	array, err := os.ReadFile("testdata/set.npz")
	if err != nil {
		t.Fatal(err)
	}
	from, err := zip.NewReader(bytes.NewReader(array), int64(len(array)))
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, e := range []*zip.File{from.File[0], from.File[0]} {
		if err := z.Copy(e); err != nil {
			t.Fatal(err)
		}
	}
	path := filepath.Join(t.TempDir(), "twice.npz")
	if err := errors.Join(z.Close(), os.WriteFile(path, b.Bytes(), 0o666)); err != nil {
		t.Fatal(err)
	}
	want := "data: " + path + ": two arrays have the name " + strings.TrimSuffix(from.File[0].Name, ".npy")
	if _, err := Arrays(path); err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}

// TestOrientationChunks checks orientation tags in generated files of all formats.
func TestOrientationChunks(t *testing.T) {
	tiff := func(v uint16) []byte { // one entry in the first directory
		b := []byte("MM\x00*\x00\x00\x00\x08\x00\x01\x01\x12\x00\x03\x00\x00\x00\x01")
		return append(binary.BigEndian.AppendUint16(b, v), 0, 0, 0, 0, 0, 0)
	}
	exif := func(v uint16) []byte { return append([]byte("Exif\x00\x00"), tiff(v)...) }
	chunk := func(name string, data []byte) []byte { // of WebP
		b := binary.LittleEndian.AppendUint32([]byte(name), uint32(len(data)))
		if b = append(b, data...); len(data)%2 == 1 {
			b = append(b, 0)
		}
		return b
	}
	part := func(name string, data []byte) []byte { // of PNG, with a checksum that nobody looks at
		return append(append(append(binary.BigEndian.AppendUint32(nil, uint32(len(data))), name...), data...), 0, 0, 0, 0)
	}
	segment := func(mark byte, data []byte) []byte { // of JPEG
		return append(binary.BigEndian.AppendUint16([]byte{0xff, mark}, uint16(len(data)+2)), data...)
	}
	webp, sign, jpeg := []byte("RIFF\x00\x00\x00\x00WEBP"), []byte("\x89PNG\r\n\x1a\n"), []byte{0xff, 0xd8}
	for name, c := range map[string]struct {
		file []byte
		want int
	}{
		"webp, an odd chunk before":     {slices.Concat(webp, chunk("ICCP", []byte{1, 2, 3}), chunk("EXIF", tiff(6))), 6},
		"webp, an even chunk before":    {slices.Concat(webp, chunk("ICCP", []byte{1, 2}), chunk("EXIF", exif(5))), 5},
		"png, plain":                    {slices.Concat(sign, part("tEXt", []byte("abc")), part("eXIf", tiff(3))), 3},
		"png, marked":                   {slices.Concat(sign, part("eXIf", exif(8))), 8},
		"png, an empty chunk":           {slices.Concat(sign, part("eXIf", []byte("Exif\x00\x00"))), 1},
		"jpeg":                          {slices.Concat(jpeg, segment(0xe0, []byte("JFIF\x00")), segment(0xe1, exif(7)), []byte{0xff, 0xda, 0, 4}), 7},
		"jpeg, another kind of APP1":    {slices.Concat(jpeg, segment(0xe1, []byte("http://ns.adobe.com/xap")), segment(0xe1, exif(4))), 4},
		"jpeg, Exif in another segment": {slices.Concat(jpeg, segment(0xe2, exif(4)), segment(0xe1, exif(2))), 2},
		"jpeg, behind the image":        {slices.Concat(jpeg, []byte{0xff, 0xda, 0, 2}, segment(0xe1, exif(4))), 1},
		"tiff":                          {append(tiff(6), make([]byte, 8)...), 6},
		"tiff, 0":                       {tiff(0), 1},
		"tiff, 8":                       {tiff(8), 8},
		"tiff, 9":                       {tiff(9), 1},
	} {
		path := filepath.Join(t.TempDir(), "x")
		if err := os.WriteFile(path, c.file, 0o644); err != nil {
			t.Fatal(err)
		}
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		if got := orientation(f); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
		f.Close()
	}
	img := image.NewRGBA(image.Rect(0, 0, 2, 1))
	img.SetRGBA(1, 0, color.RGBA{9, 8, 7, 255})
	if got := turned(img, 6).(*image.RGBA); got.RGBAAt(0, 1) != (color.RGBA{9, 8, 7, 255}) {
		t.Errorf("%v", got.Pix)
	}
}

// TestMaskFiles checks folders of masks that contain other files, and masks of a single level.
func TestMaskFiles(t *testing.T) {
	dir := t.TempDir()
	gray := image.NewGray(image.Rect(0, 0, 3, 2))
	painted(t, filepath.Join(dir, "images", "a.png"), gray)
	mask := image.NewGray(gray.Rect)
	for i := range mask.Pix {
		mask.Pix[i] = uint8(i % 2)
	}
	painted(t, filepath.Join(dir, "masks", "a.png"), mask)
	if err := os.WriteFile(filepath.Join(dir, "masks", "a.txt"), []byte("no image"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "masks", "b.png"), 0o755); err != nil {
		t.Fatal(err)
	}
	if m, err := MaskFolder(dir); err != nil || m.Classes != 2 || m.Items[0].Mask != filepath.Join(dir, "masks", "a.png") {
		t.Error(m, err)
	}
	for i := range mask.Pix {
		mask.Pix[i] = 255
	}
	painted(t, filepath.Join(dir, "masks", "a.png"), mask)
	if m, err := MaskFolder(dir); err == nil || !strings.Contains(err.Error(), "the masks are all of one level") {
		t.Error(m, err)
	}
}

// TestFolderLinks checks class folders that are links, and an empty class beside a validation folder.
func TestFolderLinks(t *testing.T) {
	dir, other := t.TempDir(), t.TempDir()
	painted(t, filepath.Join(other, "x", "1.png"), testImage(3, 3))
	painted(t, filepath.Join(dir, "a", "1.png"), testImage(3, 3))
	if err := os.Symlink(filepath.Join(other, "x"), filepath.Join(dir, "b")); err != nil {
		t.Skip("no symbolic links here: ", err)
	}
	if f, err := Folder(dir); err != nil || len(f.Items) != 2 || f.Items[1].Class != 1 {
		t.Error(f, err)
	}
	split := t.TempDir()
	painted(t, filepath.Join(split, "val", "a", "1.png"), testImage(3, 3))
	if err := os.MkdirAll(filepath.Join(split, "train", "a"), 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := Folder(split); err == nil || !strings.HasSuffix(err.Error(), filepath.Join("train", "a")+": no images in it") {
		t.Error(err)
	}
}

// TestImagesInMemory checks arrays of images: channels last, refused shapes and types, sizes other than the model's.
func TestImagesInMemory(t *testing.T) {
	x := tensor.New(tensor.WithShape(2, 2, 3, 3), tensor.WithBacking(make([]uint8, 36)))
	for i := range 36 {
		x.Uint8s()[i] = uint8(i)
	}
	x.Reshape(2, 2, 3, 3)
	y := tensor.New(tensor.WithBacking([]int64{4, 5}))
	behind := tensor.New(tensor.WithShape(2, 4, 2, 3), tensor.WithBacking(make([]uint8, 48)))
	for i := range 48 {
		behind.Uint8s()[i] = uint8(i)
	}
	s, err := Images(behind, y)
	if err != nil {
		t.Fatal(err)
	}
	for n := range 2 {
		in, err := s.At(n, nil)
		if err != nil || !slices.Equal(in.X[0].Shape(), []int{3, 4, 2}) {
			t.Fatal(in, err)
		}
		for i, v := range in.X[0].Float32s() {
			c, pixel := i/8, i%8
			if want := float32(n*24+pixel*3+c) / 255; math.Abs(float64(v-want)) > 1e-6 {
				t.Errorf("image %d, channel %d, pixel %d: %v, want %v", n, c, pixel, v, want)
			}
		}
	}
	of := func(v any, shape ...int) *tensor.Dense {
		return tensor.New(tensor.WithShape(shape...), tensor.WithBacking(v))
	}
	for name, c := range map[string]struct {
		x, y *tensor.Dense
		want string
	}{
		"no classes":     {x, nil, "tensor"},
		"no images":      {nil, y, "tensor"},
		"floats":         {of(make([]float64, 36), 2, 2, 3, 3), y, "images are float64, want uint8 or float32"},
		"float classes":  {x, of([]float32{1, 2}, 2), "want an integer for each image"},
		"class matrix":   {x, of([]int64{1, 2}, 2, 1), "want an integer for each image"},
		"three classes":  {x, of([]int64{1, 2, 3}, 3), "want an integer for each image"},
		"a scalar":       {tensor.New(tensor.FromScalar(uint8(1))), of([]int64{1}, 1), "want an integer for each image"},
		"one class less": {x, of([]int64{1}, 1), "want an integer for each image"},
	} {
		if _, err := Images(c.x, c.y); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, shape := range [][]int{{1, 2, 3}, {1, 3, 2}} {
		got, err := Preprocess{Size: 2, Gray: true, Crop: 1}.Tensor(of(make([]float32, 6), shape...))
		if err != nil || !slices.Equal(got.Shape(), []int{1, 2, 2}) {
			t.Errorf("%v: %v, %v", shape, got, err)
		}
	}
}

// TestPreprocessLimits checks sizes, and inputs of models, at the limits.
func TestPreprocessLimits(t *testing.T) {
	for _, c := range []struct {
		p  Preprocess
		ok bool
	}{
		{Preprocess{Size: 1, Width: 1, Crop: 1}, true}, {Preprocess{Size: 1 << 14, Crop: 1}, true}, {Preprocess{Size: 1<<14 + 1, Crop: 1}, false}, {Preprocess{Size: 8, Width: 1<<14 + 1, Crop: 1}, false}, {Preprocess{Size: 8, Width: 1 << 14, Crop: 1}, true},
		{Preprocess{Size: 1 << 13, Crop: 0.5}, true}, {Preprocess{Size: 1<<13 + 1, Crop: 0.5}, false}, {Preprocess{Size: -1, Width: 5}, false}, {Preprocess{Size: 5, Width: -1}, false}, {Preprocess{Size: 8, Crop: -1}, false}, {Preprocess{Size: 8, Crop: 1.01}, false},
	} {
		if err := c.p.Check(); (err == nil) != c.ok {
			t.Errorf("%+v: %v", c.p, err)
		}
	}
	for _, c := range []struct {
		dims []int
		h, w int
		nhwc bool
	}{{[]int{1, 3, 40, 60}, 40, 60, false}, {[]int{1, 40, 60, 3}, 40, 60, true}, {[]int{0, 3, 0, 0}, 224, 224, false}, {[]int{0, 3, -1, 50}, 224, 50, false}, {[]int{0, 1, 50, 0}, 50, 50, false}} {
		p, err := ImageNet.For(c.dims)
		if h, w := p.geometry(); err != nil || h != c.h || w != c.w || p.NHWC != c.nhwc {
			t.Errorf("%v: %d×%d, channels last %v, %v", c.dims, h, w, p.NHWC, err)
		}
	}
	for size, crop := range map[int]float64{64: 1, 65: ImageNet.Crop} {
		if p, err := Guess([]int{1, 3, size, size}); err != nil || p.Crop != crop {
			t.Errorf("%d across: crop %v, %v", size, p.Crop, err)
		}
	}
	for _, c := range []struct{ in, want []float64 }{
		{[]float64{0.3}, []float64{0.3}}, {[]float64{0, 1}, []float64{0, 1}}, {[]float64{0.25, 0.75}, []float64{0.25, 0.75}}, {[]float64{-1, 0.5}, []float64{1 / (1 + math.Exp(1.5)), 1 / (1 + math.Exp(-1.5))}}, {[]float64{2, 1}, []float64{1 / (1 + math.Exp(-1)), 1 / (1 + math.E)}}, {[]float64{1.5}, []float64{1}},
	} {
		got := slices.Clone(c.in)
		probabilities(got)
		for i, v := range got {
			if math.Abs(v-c.want[i]) > 1e-12 {
				t.Errorf("%v: %v, want %v", c.in, got, c.want)
			}
		}
	}
	// Another range, mean and deviation for the same image.
	a := Preprocess{Size: 2, Mean: []float64{0.4, 0.5, 0.6}, Std: []float64{0.2, 0.25, 0.5}, Crop: 1}
	b := Preprocess{Size: 2, Range: 255, Mean: []float64{100, 110, 120}, Std: []float64{2, 3, 4}, Crop: 1}
	convert, err := Converted(a, b)
	if err != nil {
		t.Fatal(err)
	}
	from, err := a.Image(testImage(2, 2))
	if err != nil {
		t.Fatal(err)
	}
	want, err := b.Image(testImage(2, 2))
	if err != nil {
		t.Fatal(err)
	}
	got, err := convert(from)
	if err != nil {
		t.Fatal(err)
	}
	for i, v := range got.Float32s() {
		if math.Abs(float64(v-want.Float32s()[i])) > 1e-3 {
			t.Fatalf("%v, want %v", got.Float32s(), want.Float32s())
		}
	}
}

// TestPaddingLimits checks padding of samples with no element and with one.
func TestPaddingLimits(t *testing.T) {
	of := func(n int) *tensor.Dense {
		return tensor.New(tensor.WithShape(n, 2), tensor.WithBacking(make([]float32, 2*n)))
	}
	for multiple, want := range map[int]int{0: 3, 1: 3, 2: 4} {
		for i, x := range (&Padding{Multiple: multiple}).level([]*tensor.Dense{of(1), of(3)}, 7) {
			v := x.Float32s()
			if !slices.Equal(x.Shape(), []int{want, 2}) || v[0] != 0 || (i == 0 && v[2] != 7) || (i == 1 && v[5] != 0) {
				t.Errorf("multiples of %d: %v", multiple, x)
			}
		}
	}
	odd := []*tensor.Dense{of(1), nil}
	if got := (&Padding{}).level(odd, 0); &got[0] != &odd[0] {
		t.Error("a tensor that is not there")
	}
	scalars := []*tensor.Dense{tensor.New(tensor.FromScalar(float32(1))), tensor.New(tensor.FromScalar(float32(2)))}
	if got := (&Padding{}).level(scalars, 0); &got[0] != &scalars[0] {
		t.Error("scalars")
	}
	ranks := []*tensor.Dense{of(2), tensor.New(tensor.WithShape(3), tensor.WithBacking(make([]float32, 3)))}
	if got := (&Padding{}).level(ranks, 0); &got[0] != &ranks[0] {
		t.Error("of other ranks")
	}
}

package data_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/graft-ml/graft/train/data"
)

func write(t *testing.T, name string, b []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, b, 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func zipped(t *testing.T, b []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	if _, err := z.Write(b); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// wants checks that err names the file and says what is wrong, on one line.
func wants(t *testing.T, err error, path, want string) {
	t.Helper()
	if err == nil || !strings.HasPrefix(err.Error(), "data: ") || !strings.Contains(err.Error(), path) ||
		!strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") || strings.Count(err.Error(), "data: ") > 1 {
		t.Errorf("error %v, want one that names %s and %q", err, path, want)
	}
}

var (
	idxImages = []byte{0, 0, 8, 3, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 2, 0, 51, 102, 255}
	idxLabels = []byte{0, 0, 8, 1, 0, 0, 0, 2, 7, 9}
)

// A folder's pair of files is found, the training set first or last; files without labels are passed over.
func TestFindIDX(t *testing.T) {
	const digits = "t10k-images-idx3-ubyte t10k-labels-idx1-ubyte train-images-idx3-ubyte train-labels-idx1-ubyte"
	const letters = "x-test-images-idx3-ubyte x-test-labels-idx1-ubyte x-train-images-idx3-ubyte x-train-labels-idx1-ubyte"
	for _, c := range []struct {
		files, want string
		held        bool
	}{
		{"", "", false},
		{"t10k-images-idx3-ubyte.gz", "", false},
		{"t10k-images-idx3-ubyte.gz t10k-labels-idx1-ubyte.gz", "t10k-images-idx3-ubyte.gz", false},
		{"train-images-idx3-ubyte train-labels-idx1-ubyte", "train-images-idx3-ubyte", true},
		{digits, "train-images-idx3-ubyte", false},
		{digits, "t10k-images-idx3-ubyte", true},
		{letters, "x-train-images-idx3-ubyte", false},
		{letters, "x-test-images-idx3-ubyte", true},
		{"emnist-images-idx3-ubyte t10k-images-idx3-ubyte t10k-labels-idx1-ubyte", "t10k-images-idx3-ubyte", false},
	} {
		dir := t.TempDir()
		for _, name := range strings.Fields(c.files) {
			if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		images, labels := data.FindIDX(dir, c.held)
		want, wantLabels := "", ""
		if c.want != "" {
			want, wantLabels = filepath.Join(dir, c.want), filepath.Join(dir, strings.Replace(c.want, "images-idx3", "labels-idx1", 1))
		}
		if images != want || labels != wantLabels {
			t.Errorf("%q: found %q and %q", c.files, images, labels)
		}
	}
}

func TestIDX(t *testing.T) {
	labels := write(t, "labels", idxLabels)
	for _, images := range []string{write(t, "images", idxImages), write(t, "images.gz", zipped(t, idxImages))} {
		s, err := data.IDX(images, labels)
		if err != nil {
			t.Fatal(err)
		}
		b, err := data.Collate(values(t, s))
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(b.X[0].Shape(), b.X[0].Float32s(), b.Y[0].Shape(), b.Y[0].Int64s()); got != "(2, 1, 1, 2) [0 0.2 0.4 1] (2) [7 9]" {
			t.Error(got)
		}
		if shape := values(t, s)[0].Y[0].Shape(); shape.Dims() != 0 {
			t.Errorf("label of shape %v, want a scalar", shape)
		}
	}
	floats := write(t, "floats", []byte{0, 0, 13, 3, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 1, 0x3f, 0x80, 0, 0, 0xc0, 0, 0, 0})
	s, err := data.IDX(floats, labels)
	if err != nil {
		t.Fatal(err)
	}
	if v := values(t, s); v[1].X[0].Float32s()[0] != -2 || !slices.Equal(v[1].X[0].Shape(), []int{1, 1, 1}) {
		t.Errorf("float images: %v", v)
	}
	for name, c := range map[string]struct {
		images []byte
		want   string
	}{
		"empty":      {nil, "not an IDX file"},
		"other":      {[]byte("hello, world"), "not an IDX file"},
		"header":     {idxImages[:10], "truncated in the header"},
		"short":      {idxImages[:18], "truncated: 2 bytes of data, want 4"},
		"long":       {append(slices.Clone(idxImages), 0), "more data than the header says"},
		"huge":       {[]byte{0, 0, 8, 3, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1}, "impossible shape"},
		"claims":     {[]byte{0, 0, 8, 3, 0, 255, 255, 255, 0, 0, 255, 255, 0, 0, 0, 28, 1}, "more than the limit"},
		"cut":        {[]byte{0, 0, 8, 3, 0, 0, 255, 255, 0, 0, 1, 0, 0, 0, 0, 28, 1}, "truncated: 1 bytes"},
		"type":       {[]byte{0, 0, 7, 3, 0, 0, 0, 0}, "element type 0x7"},
		"rank":       {idxLabels, "want images: rank 3 or 4"},
		"cut.gz":     {zipped(t, idxImages)[:30], "unexpected EOF"},
		"checked.gz": {func() []byte { b := zipped(t, idxImages); b[len(b)-6] ^= 1; return b }(), "checksum"},
	} {
		path := write(t, name, c.images)
		_, err := data.IDX(path, labels)
		wants(t, err, path, c.want)
	}
	images := write(t, "images", idxImages)
	_, err = data.IDX(images, images)
	wants(t, err, images, "want labels: integers of rank 1")
	three := write(t, "labels", []byte{0, 0, 8, 1, 0, 0, 0, 3, 7, 9, 1})
	_, err = data.IDX(images, three)
	wants(t, err, three, "2 images in")
	_, err = data.IDX("nowhere.idx", labels)
	wants(t, err, "nowhere.idx", "no such file")
}

func TestMNIST(t *testing.T) {
	root := os.Getenv("GRAFT_SHARED")
	if root == "" {
		t.Skip("GRAFT_SHARED is not set")
	}
	s, err := data.IDX(filepath.Join(root, "data/mnist/t10k-images-idx3-ubyte.gz"), filepath.Join(root, "data/mnist/t10k-labels-idx1-ubyte.gz"))
	if err != nil {
		t.Fatal(err)
	}
	var count [10]int
	var sum float64
	for b, err := range (data.BatchLoader{Batch: 500, Shuffle: true}).Batches(t.Context(), s, 0) {
		if err != nil {
			t.Fatal(err)
		}
		for _, y := range b.Y[0].Int64s() {
			count[y]++
		}
		for _, x := range b.X[0].Float32s() {
			sum += float64(x)
		}
	}
	// The published class counts of the test images.
	if count != [10]int{980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009} {
		t.Errorf("class counts %v", count)
	}
	if mean := sum / 10000 / 784; mean < 0.1324 || mean > 0.1326 {
		t.Errorf("mean pixel %v, want 0.1325", mean)
	}
}

func TestCIFAR(t *testing.T) {
	const pixels = 3072
	ten, hundred := make([]byte, 2*(1+pixels)), make([]byte, 2+pixels)
	ten[0], ten[1], ten[1+pixels], ten[2+pixels] = 3, 255, 9, 51
	hundred[0], hundred[1], hundred[2] = 19, 77, 102
	s, err := data.CIFAR(write(t, "data_batch_1.bin", ten), write(t, "test.bin.gz", zipped(t, hundred)))
	if err != nil {
		t.Fatal(err)
	}
	b, err := data.Collate(values(t, s))
	if err != nil {
		t.Fatal(err)
	}
	x := b.X[0].Float32s()
	if got := fmt.Sprint(b.X[0].Shape(), b.Y[0].Int64s(), x[0], x[pixels], x[2*pixels]); got != "(3, 3, 32, 32) [3 9 77] 1 0.2 0.4" {
		t.Error(got)
	}
	for _, n := range []int{0, 100, 3072} {
		path := write(t, "bad.bin", make([]byte, n))
		_, err := data.CIFAR(path)
		wants(t, err, path, "no whole number of CIFAR records")
	}
	if _, err := data.CIFAR(); err == nil {
		t.Error("no files accepted")
	}
	path := write(t, "bad.bin", zipped(t, ten)[:20])
	_, err = data.CIFAR(path)
	wants(t, err, path, "unexpected EOF")
}

func TestNumpy(t *testing.T) {
	a, err := data.NPY("testdata/fortran.npy")
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(a.Dtype(), a.Shape()); got != "float64 (2, 3, 4)" {
		t.Error(got)
	}
	for i, v := range a.Float64s() {
		if v != float64(i)/8 {
			t.Fatalf("element %d is %v", i, v)
		}
	}
	all, err := data.Arrays("testdata/set.npz")
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(len(all), all["mask"].Bools(), all["scalar"].Shape(), all["scalar"].Float64s(), all["y"].Uint8s()); got != "4 [true false] () [2.5] [3 1]" {
		t.Error(got)
	}
	s, err := data.NPZ("testdata/set.npz", "x", "y")
	if err != nil {
		t.Fatal(err)
	}
	last := values(t, s)[1]
	if got := fmt.Sprint(last.X[0].Dtype(), last.X[0].Shape(), last.X[0].Float32s()[0], last.Y[0].Int64s(), last.Y[0].Dims()); got != "float32 (3, 4) 1.5 [1] 0" {
		t.Error(got)
	}
	_, err = data.NPZ("testdata/set.npz", "x", "z")
	wants(t, err, "testdata/set.npz", `no array "z"; it has mask, scalar, x, y`)

	good, err := os.ReadFile("testdata/fortran.npy")
	if err != nil {
		t.Fatal(err)
	}
	with := func(from, to string) []byte { return bytes.Replace(good, []byte(from), []byte(to), 1) }
	for _, c := range []struct {
		b    []byte
		want string
	}{
		{nil, "not a numpy array file"},
		{good[:9], "truncated in the header"},
		{good[:40], "truncated in the header"},
		{good[:200], "truncated: 72 bytes of data, want 192"},
		{with("(2, 3, 4)", "(9, 9999)"), "truncated"},
		{with("(2, 3, 4), ", "(99999999999999999999),"), "shape"},
		{with(">f8", "<O8"), "holds Python objects"},
		{with(">f8", ">c8"), `element type complex64 is not supported`},
	} {
		path := write(t, "bad.npy", c.b)
		_, err := data.NPY(path)
		wants(t, err, path, c.want)
	}
	path := write(t, "bad.npz", []byte("PK no"))
	_, err = data.Arrays(path)
	wants(t, err, path, "zip")
}

// FuzzFiles: no content makes a reader panic.
func FuzzFiles(f *testing.F) {
	f.Add(idxImages)
	f.Add([]byte("a,b\n1,2\n"))
	if b, err := os.ReadFile("testdata/fortran.npy"); err == nil {
		f.Add(b)
	}
	if b, err := os.ReadFile("testdata/small.png"); err == nil {
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		path := filepath.Join(t.TempDir(), "f.png")
		if err := os.WriteFile(path, b, 0o644); err != nil {
			t.Fatal(err)
		}
		_, _ = data.ReadIDX(path)
		_, _ = data.NPY(path)
		_, _ = data.CIFAR(path)
		_, _ = data.Preprocess{Size: 8}.Open(path)
	})
}

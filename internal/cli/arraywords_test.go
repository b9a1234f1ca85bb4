package cli

import (
	"archive/zip"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/graft-ml/graft/internal/npy"
	"github.com/graft-ml/graft/nn/dtype"
)

// wordArchive writes an archive of x, rows of three numbers, and y, a word of up to four letters for each.
func wordArchive(t *testing.T, path string, words []string) {
	t.Helper()
	const rows = 12
	x := dtype.New(dtype.Float32, rows, 3)
	for i := range dtype.Slice[float32](x) {
		dtype.Slice[float32](x)[i] = float32((i/3)%len(words)) + float32(i%3)/10
	}
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	z := zip.NewWriter(f)
	var b strings.Builder
	header := "{'descr': '|S4', 'fortran_order': False, 'shape': (12,)}"
	b.WriteString("\x93NUMPY\x01\x00" + string([]byte{byte(len(header)), 0}) + header)
	for i := range rows {
		b.WriteString((words[i%len(words)] + "\x00\x00\x00\x00")[:4])
	}
	w, err := z.Create("x.npy")
	if err == nil {
		err = npy.Write(w, x)
	}
	if err != nil {
		t.Fatal(err)
	}
	if w, err = z.Create("y.npy"); err == nil {
		_, err = w.Write([]byte(b.String()))
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(z.Close(), f.Close()); err != nil {
		t.Fatal(err)
	}
}

// TestArrayWords checks that targets in an archive may be class names, which are stored in the model.
func TestArrayWords(t *testing.T) {
	dir := t.TempDir()
	wordArchive(t, filepath.Join(dir, "a.npz"), []string{"oak", "ash", "elm"})
	wordArchive(t, filepath.Join(dir, "b.npz"), []string{"oak", "fir"})
	classifier(t, filepath.Join(dir, "two.onnx"), 3, 2)
	expect(t, dir, [][3]string{
		{"train two.onnx --data a.npz --val 0.25 --lr 0.1 --epochs 60 -o trees.onnx", "9 samples to train on, 3 to validate; classes: ash, elm, oak", ""},
		{"eval trees.onnx --data a.npz --per-class", "ash ", ""},
		{"predict trees.onnx a.npz", "oak", ""},
		{"eval trees.onnx --data b.npz", "", `b.npz: sample 2: the target is "fir", which is not among the classes ash, elm, oak`},
	})
}

// TestArrayPair reads the arrays of an archive as files of their own.
func TestArrayPair(t *testing.T) {
	dir := t.TempDir()
	wordArchive(t, filepath.Join(dir, "a.npz"), []string{"oak", "ash", "elm"})
	z, err := zip.OpenReader(filepath.Join(dir, "a.npz"))
	if err != nil {
		t.Fatal(err)
	}
	err = errors.Join(os.CopyFS(dir, z), z.Close())
	if err != nil {
		t.Fatal(err)
	}
	classifier(t, filepath.Join(dir, "two.onnx"), 3, 2)
	pair := func(y string) string { return filepath.Join(dir, "x.npy") + "," + filepath.Join(dir, y) }
	expect(t, dir, [][3]string{
		{"train two.onnx --data " + pair("y.npy") + " --val 0.25 --lr 0.1 --epochs 60 -o trees.onnx", "9 samples to train on, 3 to validate; classes: ash, elm, oak", ""},
		{"eval trees.onnx --data " + pair("y.npy") + " --per-class", "ash ", ""},
		{"eval trees.onnx --data " + pair("none.npy"), "", "no such file or folder: "},
		{"eval trees.onnx --data " + pair("two.onnx"), "", "x.npy: not an IDX file"},
	})
}

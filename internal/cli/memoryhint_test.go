package cli

import (
	"io"
	"strings"
	"testing"

	"github.com/graft-ml/graft/internal/npy"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/onnxio"
)

// TestMemoryHints: what does not fit in memory is refused with the flag that sets the limit, and, if it is a run of several samples, with the one for
// the batch.
func TestMemoryHints(t *testing.T) {
	defer limitMemory(0)
	dir := t.TempDir()
	t.Chdir(dir)
	x := dtype.New(dtype.Float32, 64, 1, 64, 64)
	if err := onnxio.WriteFile("x.npy", func(w io.Writer) error { return npy.Write(w, x) }); err != nil {
		t.Fatal(err)
	}
	const limit = ", which --memory sets"
	expect(t, dir, [][3]string{
		{"new cnn --input 1,64,64 --width 16 --classes 2 -o m.onnx", "", ""},
		{"inspect m.onnx --memory 50kB", "", limit},
		{"predict m.onnx x.npy --memory 12MB --batch 64", "", limit + "; a smaller --batch needs less"},
	})
	_, err := command("predict", "m.onnx", "x.npy", "--memory", "2200kB", "--batch", "1")
	if err == nil || !strings.HasSuffix(err.Error(), limit) {
		t.Error(err)
	}
}

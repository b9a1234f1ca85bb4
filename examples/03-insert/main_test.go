package main

import (
	"context"
	"math"
	"path/filepath"
	"testing"

	"github.com/graft-ml/graft/examples/letters"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/onnxio"
)

// TestRun checks that inserting layers that start as the identity keeps the function.
func TestRun(t *testing.T) {
	const model = "../../cmd/graft/demo/digits.onnx"
	out := filepath.Join(t.TempDir(), "out.onnx")
	if err := run(model, out); err != nil {
		t.Fatal(err)
	}
	images, _, err := letters.Set("0123456789", 5, 1)
	if err != nil {
		t.Fatal(err)
	}
	x, err := dtype.FromSlice(images, 5, 1, letters.Size, letters.Size)
	if err != nil {
		t.Fatal(err)
	}
	var scores [2][]float32
	for i, path := range []string{model, out} {
		g, err := onnxio.Load(path)
		if err != nil {
			t.Fatal(err)
		}
		y, err := g.Run(context.Background(), x)
		if err != nil {
			t.Fatal(err)
		}
		scores[i] = dtype.Slice[float32](y[0])
	}
	for i := range scores[0] {
		if d := math.Abs(float64(scores[0][i] - scores[1][i])); d > 1e-4 {
			t.Fatalf("score %d changed by %g", i, d)
		}
	}
}

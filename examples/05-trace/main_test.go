package main

import (
	"path/filepath"
	"testing"

	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/onnxio"
)

func TestExport(t *testing.T) {
	out := filepath.Join(t.TempDir(), "mlp.onnx")
	if err := export(out); err != nil {
		t.Fatal(err)
	}
	g, err := onnxio.Load(out)
	if err != nil {
		t.Fatal(err)
	}
	for _, batch := range []int{1, 5} {
		y, err := g.Run(t.Context(), dtype.New(dtype.Float32, batch, 784))
		if err != nil {
			t.Fatal(err)
		}
		if s := y[0].Shape(); s[0] != batch || s[1] != 128 {
			t.Errorf("batch %d gives %v", batch, s)
		}
	}
}

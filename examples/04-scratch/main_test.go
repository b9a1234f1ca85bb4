package main

import (
	"path/filepath"
	"testing"

	"github.com/graft-ml/graft/onnxio"
)

func TestRun(t *testing.T) {
	set, err := digits(1200)
	if err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(t.TempDir(), "out.onnx")
	h, err := run(t.Context(), set, out, 3)
	if err != nil {
		t.Fatal(err)
	}
	if a := h.Best().Val["accuracy"]; a < 0.8 {
		t.Errorf("accuracy %.3f, want at least 0.8", a)
	}
	g, err := onnxio.Load(out)
	if err != nil {
		t.Fatal(err)
	}
	if got := g.Inputs()[0].Type().String(); got != "float32[N,1,28,28]" {
		t.Errorf("the saved input is %s, want a symbolic batch", got)
	}
}

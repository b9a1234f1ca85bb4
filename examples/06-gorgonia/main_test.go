package main

import (
	"path/filepath"
	"testing"

	"github.com/graft-ml/graft/onnxio"
)

func TestRun(t *testing.T) {
	out := filepath.Join(t.TempDir(), "out.onnx")
	first, last, err := run("../../cmd/graft/demo/digits.onnx", out, 8)
	if err != nil {
		t.Fatal(err)
	}
	if !(last < 0.8*first) {
		t.Errorf("the loss went from %v to %v, want a fifth less at least", first, last)
	}
	g, err := onnxio.Load(out)
	if err != nil {
		t.Fatal(err)
	}
	if got := g.Outputs()[0].Type().String(); got != "float32[N,4]" {
		t.Errorf("the saved output is %s", got)
	}
}

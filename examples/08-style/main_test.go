package main

import (
	"image/png"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/graft-ml/graft/internal/oracle"
)

func TestDrawn(t *testing.T) {
	dir := t.TempDir()
	p := painter{steps: 20, rate: 0.05, style: 1, out: filepath.Join(dir, "out.png"), w: io.Discard}
	first, last, err := p.drawn(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	if !(last < 0.7*first) {
		t.Errorf("the loss went from %v to %v, want a third less at least", first, last)
	}
	f, err := os.Open(p.out)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if m, err := png.Decode(f); err != nil || m.Bounds().Dx() != 64 {
		t.Errorf("%v", err)
	}
}

// A real classifier's activations do.
func TestSqueezeNet(t *testing.T) {
	model := oracle.Shared(t, "models", "squeezenet1.1", "model.onnx")
	dir := t.TempDir()
	p := painter{rate: 0.05, style: 1, out: filepath.Join(dir, "out.png"), w: io.Discard}
	if _, _, err := p.drawn(t.Context(), dir); err != nil { // two images
		t.Fatal(err)
	}
	p.steps = 3
	first, last, err := p.files(t.Context(), model, filepath.Join(dir, "content.png"), filepath.Join(dir, "style.png"))
	if err != nil {
		t.Fatal(err)
	}
	if !(last < first) {
		t.Errorf("the loss went from %v to %v", first, last)
	}
}

package main

import (
	"bytes"
	"image/png"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestSegment(t *testing.T) {
	dir := t.TempDir()
	model, imageFile, painted := filepath.Join(dir, "m.onnx"), filepath.Join(dir, "scene.png"), filepath.Join(dir, "painted.png")
	shares, err := learn(t.Context(), io.Discard, model, imageFile, 600, 6)
	if err != nil {
		t.Fatal(err)
	}
	for i, x := range shares {
		if !(x > 0.5) {
			t.Errorf("%s overlaps by %v, want half at least", classes[i], x)
		}
	}
	var out bytes.Buffer
	if err := paint(t.Context(), &out, model, imageFile, painted); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), "class 0: ") {
		t.Error(out.String())
	}
	f, err := os.Open(painted)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if m, err := png.Decode(f); err != nil || m.Bounds().Dx() != size || m.Bounds().Dy() != size {
		t.Errorf("%v", err)
	}
	if err := paint(t.Context(), io.Discard, "../../cmd/graft/demo/digits.onnx", imageFile, painted); err == nil || !strings.Contains(err.Error(), "want a score for each class and place") {
		t.Errorf("%v", err)
	}
}

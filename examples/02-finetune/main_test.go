package main

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/graft-ml/graft/examples/letters"
)

func TestRun(t *testing.T) {
	dir := t.TempDir()
	folder := filepath.Join(dir, "letters")
	if _, err := letters.WriteFolder(folder, "ABE", 240, 1); err != nil {
		t.Fatal(err)
	}
	best, err := run(context.Background(), "../../cmd/graft/demo/digits.onnx", folder, filepath.Join(dir, "run"), 6)
	if err != nil {
		t.Fatal(err)
	}
	if best < 0.8 {
		t.Errorf("accuracy %.3f, want at least 0.8 (chance is 0.33)", best)
	}
}

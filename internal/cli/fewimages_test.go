package cli

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/graft-ml/graft/internal/glyph"
)

// TestOneImageEach checks that training works with one image of each class, where none is left for validation.
func TestOneImageEach(t *testing.T) {
	dir := t.TempDir()
	if out, err := in(dir, "new cnn --input 3,16,16 --classes 2 --width 4 --depth 1 -o cnn.onnx"); err != nil {
		t.Fatal(out, err)
	}
	if _, err := glyph.WriteFolder(filepath.Join(dir, "letters"), "AB", 2, 1); err != nil {
		t.Fatal(err)
	}
	for _, flags := range []string{"", " --val 0", " --full"} {
		out, err := in(dir, "train cnn.onnx --data letters/ --preset unit --epochs 2 --force -o out.onnx"+flags)
		if err != nil || !strings.Contains(out, "2 samples to train on, 0 to validate") {
			t.Errorf("%q: %s %v", flags, out, err)
		}
	}
}

package cli

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/onnxio"
)

// TestTogetherKeepsOthersData: models that are saved together neither remove nor replace data that another model of the folder names.
func TestTogetherKeepsOthersData(t *testing.T) {
	dir := t.TempDir()
	first, renamed := filepath.Join(dir, "step.onnx"), filepath.Join(dir, "kept.onnx")
	_, g, _ := made(t, "lstm --input 6,3 --classes 2 --width 8", []int{1, 6, 3})
	if err := (onnxio.Saver{ExternalOver: 1}).Save(first, g); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(first, renamed); err != nil {
		t.Fatal(err)
	}
	if err := saveTogether(t.Context(), dir, map[string]*nn.Graph{"step.onnx": g, "step.start.onnx": g}); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{first, renamed} {
		if _, err := onnxio.Load(path); err != nil {
			t.Error(err)
		}
	}
}

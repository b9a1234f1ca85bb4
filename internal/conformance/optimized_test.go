package conformance_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/graft-ml/graft/conformance"
	"github.com/graft-ml/graft/internal/oracle"
)

// TestOptimizedModels runs every model as ONNX Runtime's graph optimizer saves it, with the operators of its own that it
// puts in: the outputs are those of the data sets.
func TestOptimizedModels(t *testing.T) {
	root := oracle.Shared(t, "models")
	ort := oracle.ORT(t)
	entries, err := os.ReadDir(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, level := range []string{"extended", "all"} {
		for _, e := range entries {
			from := filepath.Join(root, e.Name())
			if _, err := os.Stat(filepath.Join(from, "model.onnx")); err != nil {
				continue
			}
			t.Run(level+"/"+e.Name(), func(t *testing.T) {
				dir := t.TempDir()
				if err := os.CopyFS(dir, os.DirFS(from)); err != nil {
					t.Fatal(err)
				}
				for _, name := range []string{"model.onnx", "gradients.json"} { // the optimizer renames parameters
					if err := os.Remove(filepath.Join(dir, name)); err != nil && !os.IsNotExist(err) {
						t.Fatal(err)
					}
				}
				if err := ort.SaveOptimized(filepath.Join(from, "model.onnx"), filepath.Join(dir, "model.onnx"), level); err != nil {
					t.Fatal(err)
				}
				if r := (conformance.Runner{}).RunCase(t.Context(), conformance.Case{Name: e.Name(), Dir: dir}); !r.Passed() {
					t.Error(r.Error)
				}
			})
		}
	}
}

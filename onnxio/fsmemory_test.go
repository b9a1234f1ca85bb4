package onnxio

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/graft-ml/graft/internal/budget"
	"github.com/graft-ml/graft/internal/budget/budgettest"
	"github.com/graft-ml/graft/internal/disk"
	"github.com/graft-ml/graft/nn/dtype"
)

// TestFSMemory: a model in a file of the system takes its weights, once, from a file system too.
func TestFSMemory(t *testing.T) {
	const elements = 1 << 20
	dir := t.TempDir()
	path := filepath.Join(dir, "m.onnx")
	if err := os.WriteFile(path, withRaw(t, dtype.Float32, elements, 4*elements), 0o600); err != nil {
		t.Fatal(err)
	}
	defer budget.Limit(0)
	budget.Limit(budgettest.Used() + 5*elements)
	for name, fsys := range map[string]fs.FS{"path": nil, "system": os.DirFS(dir), "disk": disk.Dir(dir)} {
		at := "m.onnx"
		if fsys == nil {
			at = path
		}
		if _, err := (Loader{FS: fsys}).Load(at); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

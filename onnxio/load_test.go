package onnxio

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// TestLoadShared loads every model of the shared folder.
func TestLoadShared(t *testing.T) {
	for name, fsys := range map[string]fs.FS{
		"models": os.DirFS(filepath.Join(sharedDir(t), "models")),
		"nodes":  nodeTests(t),
		"pfn":    os.DirFS(filepath.Join(sharedDir(t), "testcases-pfn")),
	} {
		count := 0
		for model := range models(t, fsys) {
			if _, err := (Loader{FS: fsys}).Load(model); err != nil {
				t.Errorf("%s: %v", model, err)
				continue
			}
			count++
		}
		t.Logf("%s: %d", name, count)
	}
	_ = bytes.MinRead
}

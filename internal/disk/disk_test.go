package disk_test

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/graft-ml/graft/internal/disk"
	"github.com/graft-ml/graft/internal/disk/disktest"
)

func text(s string) func(io.Writer) error {
	return func(w io.Writer) error { _, err := io.WriteString(w, s); return err }
}

// TestFaults: a file and several files of a folder are replaced whole or not at all.
func TestFaults(t *testing.T) {
	write := func(dir string, files ...string) error {
		change, err := disk.Begin(context.Background(), dir)
		if err != nil {
			return err
		}
		defer change.Discard()
		for i := 0; i < len(files); i += 2 {
			if err := change.Write(files[i], text(files[i+1])); err != nil {
				return err
			}
		}
		if err := change.RemoveOthers(".", func(name string) bool { return filepath.Ext(name) == ".txt" }); err != nil {
			return err
		}
		return change.Commit()
	}
	disktest.Sweep(t,
		disktest.Case{
			Name:    "file",
			Prepare: func(dir string) error { return disk.WriteFile(filepath.Join(dir, "f"), text("old")) },
			Do:      func(dir string) error { return disk.WriteFile(filepath.Join(dir, "f"), text("new")) },
		},
		disktest.Case{
			Name: "folder",
			Prepare: func(dir string) error {
				return write(dir, "a.txt", "old", "b.txt", "old", "sub/c", "old", "other", "1")
			},
			Do: func(dir string) error { return write(dir, "a.txt", "new", "sub/c", "new", "deep/er/d", "new") },
		},
		disktest.Case{
			Name:    "new folder",
			Prepare: func(dir string) error { return disk.WriteFile(filepath.Join(dir, "f"), text("old")) },
			Do:      func(dir string) error { return write(filepath.Join(dir, "run"), "a.txt", "new", "sub/c", "new") },
		},
	)
}

// TestSettleLeavesCopies: a stage that came from elsewhere, in an archive, moves and removes nothing.
func TestSettleLeavesCopies(t *testing.T) {
	dir := t.TempDir()
	for name, s := range map[string]string{"kept": "1", ".graft-commit/new/kept": "2", ".graft-commit/remove.json": `["kept"]`, ".graft-commit/by": "host 1 2"} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(s), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := disk.Settle(dir); err != nil {
		t.Error(err)
	}
	if b, err := os.ReadFile(filepath.Join(dir, "kept")); err != nil || string(b) != "1" {
		t.Errorf("%s, %v", b, err)
	}
	if _, err := disk.Begin(context.Background(), dir); err == nil {
		t.Error("a change begins beside one that cannot be finished")
	}
}

//go:build unix

package disk_test

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/graft-ml/graft/internal/disk"
)

// TestPermissions: new files and folders have the permissions that the umask leaves, replaced ones keep theirs.
func TestPermissions(t *testing.T) {
	for _, c := range []struct {
		mask         int
		file, folder fs.FileMode
	}{{0o022, 0o644, 0o755}, {0o077, 0o600, 0o700}, {0o002, 0o664, 0o775}} {
		dir := t.TempDir()
		kept := filepath.Join(dir, "kept")
		if err := os.WriteFile(kept, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(kept, 0o646); err != nil {
			t.Fatal(err)
		}
		old := syscall.Umask(c.mask)
		folder, err := disk.Begin(context.Background(), filepath.Join(dir, "run"))
		if err == nil {
			err = folder.Write("sub/f", text("new"))
		}
		if err == nil {
			err = folder.Commit()
		}
		for _, name := range []string{filepath.Join(dir, "new"), kept} {
			if err == nil {
				err = disk.WriteFile(name, text("new"))
			}
		}
		syscall.Umask(old)
		if err != nil {
			t.Fatal(err)
		}
		for name, want := range map[string]fs.FileMode{"new": c.file, "kept": 0o646, "run": c.folder, "run/sub": c.folder, "run/sub/f": c.file} {
			if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Mode().Perm() != want {
				t.Errorf("umask %o: %s: %v, want %v; %v", c.mask, name, info.Mode(), want, err)
			}
		}
	}
}

// TestNames: the longest names and those with the characters of patterns can be written, and what a killed writer of theirs left is removed.
func TestNames(t *testing.T) {
	for _, name := range []string{strings.Repeat("a", 255), strings.Repeat("ä", 127), "a[1].onnx", "a*?.onnx", `b\`} {
		dir := t.TempDir()
		left := "" // path of the temporary file
		if err := disk.WriteFile(filepath.Join(dir, name), func(io.Writer) error {
			entries, err := os.ReadDir(dir)
			if err == nil {
				left = filepath.Join(dir, entries[0].Name())
			}
			return err
		}); err != nil {
			t.Errorf("%q: %v", name, err)
			continue
		}
		if err := os.WriteFile(left, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := disk.WriteFile(filepath.Join(dir, name), text("new")); err != nil {
			t.Errorf("%q: %v", name, err)
		}
		entries, err := os.ReadDir(dir)
		if err != nil || len(entries) != 1 || entries[0].Name() != name {
			t.Errorf("%q: %v, %v", name, entries, err)
		}
	}
}

// TestReplacedPermissions: a file that is replaced keeps its permissions, or is not replaced.
func TestReplacedPermissions(t *testing.T) {
	defer func(s disk.Calls) { disk.System = s }(disk.System)
	for name, write := range map[string]func(dir string) error{
		"alone": func(dir string) error { return disk.WriteFile(filepath.Join(dir, "f"), text("new")) },
		"in a change": func(dir string) error {
			change, err := disk.Begin(t.Context(), dir)
			if err != nil {
				return err
			}
			defer change.Discard()
			if err := change.Write("f", text("new")); err != nil {
				return err
			}
			return change.Commit()
		},
	} {
		dir := t.TempDir()
		f := filepath.Join(dir, "f")
		if err := disk.WriteFile(f, text("old")); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(f, 0o640); err != nil {
			t.Fatal(err)
		}
		chmod := disk.System.Chmod
		disk.System.Chmod = func(string, fs.FileMode) error { return fs.ErrPermission }
		err := write(dir)
		disk.System.Chmod = chmod
		if b, _ := os.ReadFile(f); string(b) != "old" || !errors.Is(err, fs.ErrPermission) {
			t.Errorf("%s: without permission to set permissions: %q, %v", name, b, err)
		}
		if err := write(dir); err != nil {
			t.Error(err)
		}
		info, err := os.Stat(f)
		if b, _ := os.ReadFile(f); err != nil || string(b) != "new" || info.Mode().Perm() != 0o640 {
			t.Errorf("%s: %q, %v, %v", name, b, info.Mode(), err)
		}
	}
}

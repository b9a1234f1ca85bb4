package disk_test

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
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
		for _, in := range []string{".", "emptied"} {
			if err := change.RemoveOthers(in, func(name string) bool { return filepath.Ext(name) == ".txt" }); err != nil {
				return err
			}
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
				return write(dir, "a.txt", "old", "b.txt", "old", "sub/c", "old", "emptied/e.txt", "old", "other", "1")
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

// TestSweepsItsOwn: writing removes what an ended writer of the same file or folder left, and no file whose name only begins or ends like that.
func TestSweepsItsOwn(t *testing.T) {
	dir := t.TempDir()
	kept := []string{".f", ".f..tmp", ".f.1.tmp2", ".f.notes", ".f.tmp", ".graft..tmp", ".graft.notes", ".other.1.tmp", "f.1.tmp", "notes.tmp", "x.f.1.tmp"}
	for _, name := range append([]string{".f.1.tmp", ".graft.1.tmp"}, kept...) {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if err := disk.WriteFile(filepath.Join(dir, "f"), text("1")); err != nil {
		t.Fatal(err)
	}
	change, err := disk.Begin(context.Background(), dir)
	if err != nil {
		t.Fatal(err)
	}
	change.Discard()
	if list := names(t, dir); !slices.Equal(list, slices.Sorted(slices.Values(append(kept, "f")))) {
		t.Errorf("%q are left", list)
	}
}

// TestScratch: a scratch file is there until its release, for this user alone, and those that ended processes left are removed.
func TestScratch(t *testing.T) {
	dir := t.TempDir()
	temporary := "TMPDIR"
	if runtime.GOOS == "windows" {
		temporary = "TMP"
	}
	t.Setenv(temporary, dir)
	if err := os.WriteFile(filepath.Join(dir, "s-1.png"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	f, release, err := disk.Scratch("s-*.png")
	if err != nil {
		t.Fatal(err)
	}
	if list := names(t, dir); len(list) != 1 || filepath.Join(dir, list[0]) != f.Name() || list[0] == "s-1.png" {
		t.Errorf("%q, want %s alone", list, f.Name())
	}
	if info, err := f.Stat(); err != nil || info.Mode().Perm() != 0o600 && runtime.GOOS != "windows" {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	release()
	if list := names(t, dir); len(list) != 0 {
		t.Errorf("%q after the release", list)
	}
	if _, err := f.Write([]byte("1")); err == nil {
		t.Error("the file is open after its release")
	}
	t.Setenv(temporary, filepath.Join(dir, "missing"))
	if _, _, err := disk.Scratch("s-*.png"); err == nil {
		t.Error("no error without a folder")
	}
}

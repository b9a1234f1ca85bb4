package disk_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/graft-ml/graft/internal/disk"
)

func begin(t *testing.T, dir string) *disk.Folder {
	t.Helper()
	f, err := disk.Begin(context.Background(), dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.Discard)
	return f
}

// names lists a folder.
func names(t *testing.T, dir string) (list []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		list = append(list, e.Name())
	}
	return list
}

// TestReserve: a change whose names others take meanwhile is not made, and leaves nothing.
func TestReserve(t *testing.T) {
	dir := t.TempDir()
	if err := disk.WriteFile(filepath.Join(dir, "taken"), text("1")); err != nil {
		t.Fatal(err)
	}
	f := begin(t, dir)
	if f.Reserve("taken") || !f.Reserve("free") {
		t.Error("a name that is taken was reserved, or a free one was not")
	}
	if err := f.Write("free", text("2")); err != nil {
		t.Fatal(err)
	}
	if err := disk.WriteFile(filepath.Join(dir, "free"), text("theirs")); err != nil {
		t.Fatal(err)
	}
	if err := f.Commit(); !errors.Is(err, disk.ErrOccupied) {
		t.Errorf("%v, want that the folder is occupied", err)
	}
	if b, _ := os.ReadFile(filepath.Join(dir, "free")); string(b) != "theirs" {
		t.Errorf("%q", b)
	}
	if list := names(t, dir); !slices.Equal(list, []string{"free", "taken"}) {
		t.Errorf("the change left %q", list)
	}
	f = begin(t, dir)
	if !f.Reserve("other") || f.Write("other", text("3")) != nil || f.Commit() != nil {
		t.Error("a change with a reserved name was not made")
	}
}

// TestStaged: a path in a change belongs to it, however it is spelled; a path elsewhere to none.
func TestStaged(t *testing.T) {
	f := begin(t, t.TempDir())
	if err := f.Make("sub/b", func(path string) error {
		for _, spelling := range []string{path, filepath.Dir(path) + "/./x/../b", filepath.Dir(path) + "//b"} {
			if in, name := disk.Staged(spelling); in != f || name != filepath.Join("sub", "b") {
				t.Errorf("%s: %v, %q", spelling, in, name)
			}
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if in, name := disk.Staged(filepath.Join(t.TempDir(), "b")); in != nil || name != "" {
		t.Errorf("%v, %q", in, name)
	}
}

// TestRemoveOthers: a folder that is not there has no others, and one that cannot be read is an error.
func TestRemoveOthers(t *testing.T) {
	dir := t.TempDir()
	if err := disk.WriteFile(filepath.Join(dir, "file"), text("1")); err != nil {
		t.Fatal(err)
	}
	f := begin(t, dir)
	all := func(string) bool { return true }
	if err := f.RemoveOthers("missing", all); err != nil {
		t.Error(err)
	}
	if err := f.RemoveOthers("file", all); err == nil {
		t.Error("no error for a file in place of a folder")
	}
}

// TestStageRemains: a change whose stage cannot be removed yet is finished by the next one, whichever part of the stage stays.
func TestStageRemains(t *testing.T) {
	whole := disk.System
	defer func() { disk.System = whole }()
	for _, stays := range []string{"new", "remove.json", "by", ".graft-commit"} {
		dir := t.TempDir()
		f := begin(t, dir)
		if err := f.Write("a", text("1")); err != nil {
			t.Fatal(err)
		}
		disk.System.Remove = func(name string) error {
			if filepath.Base(name) == stays && strings.Contains(name, ".graft-commit") {
				return &fs.PathError{Op: "remove", Path: name, Err: fs.ErrPermission}
			}
			return whole.Remove(name)
		}
		if err := f.Commit(); err == nil {
			t.Errorf("%s stays: no error", stays)
		}
		disk.System = whole
		if err := disk.Settle(dir); err != nil {
			t.Errorf("%s stayed: %v", stays, err)
		}
		if list := names(t, dir); !slices.Equal(list, []string{"a"}) {
			t.Errorf("%s stayed: the folder has %q", stays, list)
		}
	}
}

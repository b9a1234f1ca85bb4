package disk_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
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
	f, staged := begin(t, t.TempDir()), ""
	if err := f.Make("sub/b", func(path string) error {
		staged = path
		for _, spelling := range []string{path, filepath.Dir(path) + "/./x/../b", filepath.Dir(path) + "//b"} {
			if in, name := disk.Staged(spelling); in != f || name != filepath.Join("sub", "b") {
				t.Errorf("%s: %v, %q", spelling, in, name)
			}
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	f.Discard()
	for _, path := range []string{filepath.Join(t.TempDir(), "b"), staged} { // the change is over
		if in, name := disk.Staged(path); in != nil || name != "" {
			t.Errorf("%s: %v, %q", path, in, name)
		}
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

// TestBeginRefuses: a change is of a folder, and of what is in it.
func TestBeginRefuses(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := disk.WriteFile(file, text("1")); err != nil {
		t.Fatal(err)
	}
	if _, err := disk.Begin(context.Background(), file); err == nil || err.Error() != "write "+file+": is a file, want a folder" {
		t.Error(err)
	}
	f := begin(t, dir)
	for _, name := range []string{"../other", "/other", ""} {
		if err := f.Write(name, text("2")); err == nil || err.Error() != name+" is not inside "+dir {
			t.Errorf("%q: %v", name, err)
		}
	}
	if err := os.MkdirAll(filepath.Join(dir, "sub"), 0o777); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"file", "sub"} {
		if err := f.Write(name, text("2")); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.Commit(); err == nil || err.Error() != "sub is a folder, want a file" {
		t.Error(err)
	}
	if b, _ := os.ReadFile(file); string(b) != "1" {
		t.Errorf("the file is %q after a change that was refused", b)
	}
	if list := names(t, dir); !slices.Equal(list, []string{"file", "sub"}) {
		t.Errorf("the folder has %q", list)
	}
}

// TestRemoves: a change removes files, by name and all others that match, no folders and none of its own.
func TestRemoves(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"a", "b.txt", "c.txt", "kept", "sub/d.txt"} {
		if err := errors.Join(disk.MkdirAll(filepath.Dir(filepath.Join(dir, name))), disk.WriteFile(filepath.Join(dir, name), text("1"))); err != nil {
			t.Fatal(err)
		}
	}
	f := begin(t, dir)
	if err := f.Write("c.txt", text("2")); err != nil {
		t.Fatal(err)
	}
	f.Remove("a")
	f.Remove("missing")
	if err := f.RemoveOthers(".", func(name string) bool { return name != "kept" }); err != nil {
		t.Fatal(err)
	}
	if err := f.Commit(); err != nil {
		t.Fatal(err)
	}
	if list := names(t, dir); !slices.Equal(list, []string{"c.txt", "kept", "sub"}) || len(names(t, filepath.Join(dir, "sub"))) != 1 {
		t.Errorf("the folder has %q", list)
	}
}

// TestDataBeforeModel: the external data of a model are moved before it.
func TestDataBeforeModel(t *testing.T) {
	whole := disk.System
	defer func() { disk.System = whole }()
	dir := t.TempDir()
	f := begin(t, dir)
	for _, name := range []string{"m.onnx", "m.onnx.data"} {
		if err := f.Write(name, text("1")); err != nil {
			t.Fatal(err)
		}
	}
	var order []string
	disk.System.Rename = func(from, to string) error {
		if filepath.Dir(to) == dir {
			order = append(order, filepath.Base(to))
		}
		return whole.Rename(from, to)
	}
	if err := f.Commit(); err != nil || !slices.Equal(order, []string{".graft-commit", "m.onnx.data", "m.onnx"}) {
		t.Errorf("%q, %v", order, err)
	}
}

// interrupt commits a change of files whose files cannot be moved to their places.
func interrupt(t *testing.T, dir string, files ...string) {
	t.Helper()
	whole := disk.System
	defer func() { disk.System = whole }()
	f := begin(t, dir)
	for _, name := range files {
		if err := f.Write(name, text("theirs")); err != nil {
			t.Fatal(err)
		}
	}
	disk.System.Rename = func(from, to string) error {
		if strings.Contains(from, ".graft-commit") {
			return &fs.PathError{Op: "rename", Path: from, Err: fs.ErrPermission}
		}
		return whole.Rename(from, to)
	}
	if err := f.Commit(); err == nil {
		t.Fatal("no error")
	}
}

// TestInterruptedMeanwhile: a change finishes one that was interrupted after it began itself.
func TestInterruptedMeanwhile(t *testing.T) {
	dir := t.TempDir()
	f := begin(t, dir)
	if err := f.Write("b", text("ours")); err != nil {
		t.Fatal(err)
	}
	interrupt(t, dir, "a", "b")
	if err := f.Commit(); err != nil {
		t.Error(err)
	}
	for name, want := range map[string]string{"a": "theirs", "b": "ours"} {
		if b, err := os.ReadFile(filepath.Join(dir, name)); string(b) != want {
			t.Errorf("%s is %q, want %q; %v", name, b, want, err)
		}
	}
}

// TestSettledTogether: a change that was interrupted is finished by whoever reads the folder, also by several at once.
func TestSettledTogether(t *testing.T) {
	for range 3 {
		dir := t.TempDir()
		var files []string
		for i := range 10 {
			files = append(files, string(rune('a'+i)))
		}
		interrupt(t, dir, files...)
		var group sync.WaitGroup
		for range 8 {
			group.Go(func() {
				if err := disk.Settle(dir); err != nil {
					t.Error(err)
				}
				if list := names(t, dir); !slices.Equal(list, files) {
					t.Errorf("settled, the folder has %q", list)
				}
			})
		}
		group.Wait()
	}
}

// TestLockExcludes: one goroutine at a time holds the lock of a folder, whose file each removes.
func TestLockExcludes(t *testing.T) {
	dir := t.TempDir()
	var holders atomic.Int32
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for range 50 {
				release, err := disk.Lock(context.Background(), dir)
				if err != nil {
					t.Error(err)
					return
				}
				if n := holders.Add(1); n != 1 {
					t.Errorf("%d hold the lock", n)
				}
				runtime.Gosched()
				holders.Add(-1)
				release()
			}
		})
	}
	group.Wait()
}

// TestOthersInUse: what others are writing is not swept away, neither a file of the same name nor a change of the same folder.
func TestOthersInUse(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "f")
	f := begin(t, dir)
	if err := f.Write("b", text("1")); err != nil {
		t.Fatal(err)
	}
	if err := disk.WriteFile(name, func(w io.Writer) error {
		begin(t, dir).Discard()
		return errors.Join(disk.WriteFile(name, text("second")), text("first")(w))
	}); err != nil {
		t.Error(err)
	}
	if b, err := os.ReadFile(name); string(b) != "first" {
		t.Errorf("%q, %v", b, err)
	}
	if err := f.Commit(); err != nil {
		t.Error(err)
	}
	if list := names(t, dir); !slices.Equal(list, []string{"b", "f"}) {
		t.Errorf("the folder has %q", list)
	}
}

// TestTakenForAbandoned: a stage that another process takes for abandoned before it is marked as in use is made again.
func TestTakenForAbandoned(t *testing.T) {
	whole := disk.System
	defer func() { disk.System = whole }()
	taken := 0
	disk.System.Mkdir = func(dir string, mode fs.FileMode) error {
		err := whole.Mkdir(dir, mode)
		if taken++; taken < 3 {
			err = errors.Join(err, os.Remove(dir))
		}
		return err
	}
	dir := t.TempDir()
	f := begin(t, dir)
	if err := errors.Join(f.Write("a", text("1")), f.Commit()); err != nil || taken != 3 {
		t.Errorf("after %d: %v", taken, err)
	}
}

// TestFailedWrite: a file that cannot be written leaves nothing.
func TestFailedWrite(t *testing.T) {
	dir := t.TempDir()
	if err := disk.WriteFile(filepath.Join(dir, "f"), func(io.Writer) error { return io.ErrClosedPipe }); !errors.Is(err, io.ErrClosedPipe) {
		t.Error(err)
	}
	if list := names(t, dir); len(list) > 0 {
		t.Errorf("the folder has %q", list)
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

// TestManyFiles: writing a file of a change does not look at those that were written before.
func TestManyFiles(t *testing.T) {
	change, err := disk.Begin(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer change.Discard()
	write := func(from, to int) uint64 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for i := from; i < to; i++ {
			if err := change.Write(fmt.Sprintf("set/%d", i), func(w io.Writer) error { _, err := w.Write([]byte("a")); return err }); err != nil {
				t.Fatal(err)
			}
		}
		runtime.ReadMemStats(&after)
		return after.Mallocs - before.Mallocs
	}
	first := write(0, 100)
	write(100, 400)
	if last := write(400, 500); last > 2*first {
		t.Errorf("%d allocations for the first hundred files, %d for the fifth", first, last)
	}
}

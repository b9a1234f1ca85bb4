package disk

import (
	"context"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// TestEnd: a process that ends while it writes a file and changes a folder leaves neither a temporary file, a stage nor a lock. It runs in a child
// process, since nothing can be written afterwards.
func TestEnd(t *testing.T) {
	if dir := os.Getenv("DISK_TEST_END"); dir != "" {
		if _, err := Lock(context.Background(), dir); err != nil {
			t.Fatal(err)
		}
		f, err := Begin(context.Background(), dir)
		if err == nil {
			err = f.Write("b", func(io.Writer) error { return nil })
		}
		if err == nil {
			err = WriteFile(filepath.Join(dir, "a"), func(w io.Writer) error {
				End()
				os.Exit(0)
				return nil
			})
		}
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a"), []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	c := exec.Command(os.Args[0], "-test.run", "^TestEnd$")
	c.Env = append(os.Environ(), "DISK_TEST_END="+dir)
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 || entries[0].Name() != "a" {
		t.Errorf("%v, %v", entries, err)
	}
	if b, _ := os.ReadFile(filepath.Join(dir, "a")); string(b) != "old" {
		t.Errorf("%q", b)
	}
}

// TestForgotten: what is written, changed and unlocked is none of the process's unfinished files any more, which its end would remove.
func TestForgotten(t *testing.T) {
	dir := t.TempDir()
	nothing := func(io.Writer) error { return nil }
	f, err := Begin(context.Background(), dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, err := range []error{WriteFile(filepath.Join(dir, "a"), nothing), f.Write("b", nothing), f.Commit(), CheckFile(filepath.Join(dir, "c"))} {
		if err != nil {
			t.Error(err)
		}
	}
	release, err := Lock(context.Background(), dir)
	if err != nil {
		t.Fatal(err)
	}
	release()
	if len(unfinished.paths) > 0 {
		t.Errorf("%v", unfinished.paths)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 2 {
		t.Errorf("%v, %v", entries, err)
	}
}

// TestEndWaits: the end of a process waits for each call that creates something in a folder that is changed, so that nothing is added to what it removes.
func TestEndWaits(t *testing.T) {
	calls := map[string]func(f *Folder) error{
		"Mkdir":           func(f *Folder) error { _, err := Begin(context.Background(), f.dir); return err },
		"MkdirAll":        func(f *Folder) error { return f.Make("sub/b", func(string) error { return nil }) },
		"CreateNew":       func(f *Folder) error { return f.Write("b", func(io.Writer) error { return nil }) },
		"Rename":          func(f *Folder) error { return f.Write("b", func(io.Writer) error { return nil }) },
		"MkdirAll/Commit": (*Folder).Commit,
		"Rename/Commit":   (*Folder).Commit, // until all files are in their places
	}
	if dir := os.Getenv("DISK_TEST_END"); dir != "" {
		name := os.Getenv("DISK_TEST_CALL")
		f, err := Begin(context.Background(), dir)
		if err != nil {
			t.Fatal(err)
		}
		within, ended := make(chan bool), make(chan bool)
		hold := func() {
			close(within)
			select {
			case <-ended:
				os.Exit(3)
			case <-time.After(20 * time.Millisecond):
			}
		}
		s := System
		switch name {
		case "Mkdir":
			System.Mkdir = func(dir string, mode fs.FileMode) error { hold(); return s.Mkdir(dir, mode) }
		case "CreateNew":
			System.CreateNew = func(name string, mode fs.FileMode) (*os.File, error) { hold(); return s.CreateNew(name, mode) }
		case "Rename":
			System.Rename = func(from, to string) error { hold(); return s.Rename(from, to) }
		case "Rename/Commit":
			System.Rename = func(from, to string) error {
				if filepath.Base(to) == committed {
					hold()
				}
				return s.Rename(from, to)
			}
		default:
			System.MkdirAll = func(dir string, mode fs.FileMode) error { hold(); return s.MkdirAll(dir, mode) }
		}
		go calls[name](f)
		<-within
		End()
		close(ended)
		time.Sleep(time.Millisecond)
		os.Exit(0)
	}
	for name := range calls {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			c := exec.Command(os.Args[0], "-test.run", "^TestEndWaits$")
			c.Env = append(os.Environ(), "DISK_TEST_END="+dir, "DISK_TEST_CALL="+name)
			if out, err := c.CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			if entries, err := os.ReadDir(dir); err != nil || len(entries) != 0 {
				t.Errorf("%v, %v", entries, err)
			}
		})
	}
}

// TestEndWhileLocking: a process that ends at any moment of locking a folder leaves no file in it.
func TestEndWhileLocking(t *testing.T) {
	if dir := os.Getenv("DISK_TEST_END"); dir != "" {
		for range 3 {
			go func() {
				for {
					if release, err := Lock(context.Background(), dir); err == nil {
						release()
					}
				}
			}()
		}
		time.Sleep(time.Duration(os.Getpid()%7) * 300 * time.Microsecond)
		End()
		os.Exit(0)
	}
	for range 20 {
		t.Run("", func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			c := exec.Command(os.Args[0], "-test.run", "^TestEndWhileLocking$")
			c.Env = append(os.Environ(), "DISK_TEST_END="+dir)
			if out, err := c.CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			if entries, err := os.ReadDir(dir); err != nil || len(entries) != 0 {
				t.Errorf("%v, %v", entries, err)
			}
		})
	}
}

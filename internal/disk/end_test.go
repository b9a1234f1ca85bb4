package disk

import (
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
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

package disk_test

import (
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/graft-ml/graft/internal/disk"
)

// TestChangedWhileRead: a file that is cut, appended to or overwritten after it was opened is an error of every way to read it; one that is replaced is
// read to its end.
func TestChangedWhileRead(t *testing.T) {
	const old, now = "0123456789", "abcdefghij"
	changes := map[string]func(name string) error{
		"cut":     func(name string) error { return os.Truncate(name, 3) },
		"emptied": func(name string) error { return os.Truncate(name, 0) },
		"longer":  func(name string) error { return os.WriteFile(name, []byte(old+now), 0o600) },
		"overwritten": func(name string) error {
			if err := os.WriteFile(name, []byte(now), 0o600); err != nil {
				return err
			}
			return os.Chtimes(name, time.Time{}, time.Now().Add(-time.Hour)) // a clock that was set back
		},
		"replaced": func(name string) error {
			if err := os.WriteFile(name+".new", []byte(now), 0o600); err != nil {
				return err
			}
			return os.Rename(name+".new", name)
		},
	}
	reads := map[string]func(f *disk.File) ([]byte, error){
		"Read": func(f *disk.File) ([]byte, error) { return io.ReadAll(struct{ io.Reader }{f}) },
		"WriteTo": func(f *disk.File) ([]byte, error) {
			var b strings.Builder
			_, err := io.Copy(&b, f)
			return []byte(b.String()), err
		},
		"ReadAt": func(f *disk.File) ([]byte, error) { b := make([]byte, 8); _, err := f.ReadAt(b, 2); return b, err },
	}
	if runtime.GOOS == "windows" { // does not replace a file that is open
		delete(changes, "replaced")
	}
	for change, do := range changes {
		for read, rest := range reads {
			name := filepath.Join(t.TempDir(), "f")
			if err := os.WriteFile(name, []byte(old), 0o600); err != nil {
				t.Fatal(err)
			}
			f, err := disk.Open(name)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			if _, err := io.ReadFull(f, make([]byte, 2)); err != nil {
				t.Fatal(err)
			}
			if err := do(name); err != nil {
				t.Fatal(err)
			}
			b, err := rest(f)
			if change == "replaced" {
				if err != nil || string(b) != old[2:] || !f.Replaced() {
					t.Errorf("%s after it was replaced: %q, %v", read, b, err)
				}
			} else if err == nil || err.Error() != name+" was changed while it was read" || f.Replaced() {
				t.Errorf("%s of a file that was %s: %q, %v", read, change, b, err)
			}
		}
	}
}

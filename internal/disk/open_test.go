//go:build unix

package disk_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/graft-ml/graft/internal/budget"
	"github.com/graft-ml/graft/internal/disk"
	"golang.org/x/sys/unix"
)

// Opening a pipe to which nobody writes blocks, and a device need not end.
func TestOnlyFilesAreRead(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := unix.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{pipe: "is a pipe", "/dev/zero": "is a device"} {
		if _, err := disk.Open(name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Open %s: %v", name, err)
		}
		if _, err := disk.ReadFile(name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("ReadFile %s: %v", name, err)
		}
		if _, err := fs.ReadFile(disk.Dir(filepath.Dir(name)), filepath.Base(name)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("ReadFile in Dir %s: %v", name, err)
		}
	}
}

// TestReadFileMemory: a file of more than the memory that is left is not read.
func TestReadFileMemory(t *testing.T) {
	name := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(name, make([]byte, 1001), 0o600); err != nil {
		t.Fatal(err)
	}
	defer budget.Limit(0)
	budget.Limit(1001)
	if b, err := disk.ReadFile(name); err != nil || len(b) != 1001 {
		t.Errorf("%d bytes, %v", len(b), err)
	}
	budget.Limit(1000)
	if _, err := disk.ReadFile(name); err == nil || err.Error() != name+": reading 1001 bytes: takes 1001 bytes of memory, with 0 in use more than the limit of 1000, which nn.LimitMemory sets" {
		t.Error(err)
	}
}

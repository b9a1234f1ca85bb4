//go:build unix

package disk_test

import (
	"path/filepath"
	"strings"
	"testing"

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
	}
}

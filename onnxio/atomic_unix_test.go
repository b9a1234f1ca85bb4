//go:build unix

package onnxio_test

import (
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/graft-ml/graft/onnxio"
)

// TestWriteFileToPipe: a pipe is written to, not replaced.
func TestWriteFileToPipe(t *testing.T) {
	name := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(name, 0o600); err != nil {
		t.Skip(err)
	}
	f, err := os.OpenFile(name, os.O_RDWR, 0) // so that neither end waits for the other
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := onnxio.WriteFile(name, func(w io.Writer) error { _, err := io.WriteString(w, "text"); return err }); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(name); err != nil || info.Mode().IsRegular() {
		t.Fatalf("the pipe is now %v, %v", info, err)
	}
	var b [4]byte
	if _, err := io.ReadFull(f, b[:]); err != nil || string(b[:]) != "text" {
		t.Errorf("the pipe has %q, %v", b, err)
	}
}

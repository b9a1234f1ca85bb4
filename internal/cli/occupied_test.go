//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestOccupied: train does not write to the folder in which another process trains, nor remove it if that has no checkpoint yet.
func TestOccupied(t *testing.T) {
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	rare(t, in("rare.csv"))
	classifier(t, in("two.onnx"), 3, 2)
	if err := os.Mkdir(in("run"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(in("run/recipe.yaml"), []byte("epochs: 7\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	other, err := os.Open(in("run")) // with a file of its own, as another process has
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if err := unix.Flock(int(other.Fd()), unix.LOCK_EX); err != nil {
		t.Skip(err)
	}
	args := []string{"train", in("two.onnx"), "--data", in("rare.csv"), "--epochs", "1", "--dir", in("run"), "-o", in("o.onnx")}
	if _, err := command(args...); err == nil || !strings.Contains(err.Error(), "is being written to by another process: --dir chooses another folder") {
		t.Error(err)
	}
	if b, err := os.ReadFile(in("run/recipe.yaml")); err != nil || string(b) != "epochs: 7\n" {
		t.Errorf("the settings are %q, %v", b, err)
	}
	if err := unix.Flock(int(other.Fd()), unix.LOCK_UN); err != nil {
		t.Fatal(err)
	}
	if _, err := command(args...); err != nil {
		t.Error(err)
	}
}

//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package train

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/graft-ml/graft/internal/disk"
	"github.com/graft-ml/graft/internal/nntest"
)

// TestSaveBehindAnother: a checkpoint waits for another process that saves to the folder, but not long after the run was interrupted.
func TestSaveBehindAnother(t *testing.T) {
	defer func(d time.Duration) { interruptedSave = d }(interruptedSave)
	interruptedSave = time.Millisecond
	dir := t.TempDir()
	tr, err := New(nntest.Small(t), Config{Dir: dir, Log: Quiet, Loss: MSE{}})
	if err != nil {
		t.Fatal(err)
	}
	release, err := disk.Lock(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(10*time.Millisecond, cancel)
	if err := tr.save(ctx); !errors.Is(err, context.Canceled) || !errors.Is(err, disk.ErrOccupied) {
		t.Error(err)
	}
	release()
	if err := tr.save(ctx); err != nil { // nobody is waited for
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(dir, lastModel)); err != nil {
		t.Error(err)
	}
}

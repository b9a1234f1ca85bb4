//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly || windows

package disk

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// wait is a wait for the lock of a file or folder.
type wait struct {
	name   string
	holder func() string // describes the process that has the lock
	begun  time.Time
	said   bool
	pause  time.Duration

	looked, changed time.Time // the last look at the folder, and when it differed from the one before
	state           string    // of the folder
}

func newWait(name string, holder func() string) *wait {
	now := time.Now()
	return &wait{name: name, holder: holder, begun: now, pause: 50 * time.Microsecond, looked: now, changed: now, state: listing(filepath.Dir(name))}
}

// once waits a moment. It is an error if the context has ended, or if nothing has changed for too long.
func (w *wait) once(ctx context.Context) error {
	timer := time.NewTimer(w.pause)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
		return w.failed(ctx.Err())
	}
	w.pause = min(2*w.pause, 20*time.Millisecond)
	now := time.Now()
	if !w.said && now.Sub(w.begun) > 5*time.Second && Waiting != nil {
		w.said = true
		Waiting(w.what())
	}
	if now.Sub(w.looked) < min(time.Second, Patience/4) {
		return nil
	}
	if state := listing(filepath.Dir(w.name)); state != w.state {
		w.state, w.changed = state, now
	}
	w.looked = now
	if still := now.Sub(w.changed); still > Patience {
		return w.failed(fmt.Errorf("nothing has changed there for %v", still.Round(time.Second)))
	}
	return nil
}

// what returns what is waited for.
func (w *wait) what() string { return w.name + ", which " + w.holder() + " has locked" }

func (w *wait) failed(err error) error {
	return fmt.Errorf("%s %w: waited for %s: %w", filepath.Dir(w.name), ErrOccupied, w.what(), err)
}

// listing describes the files of a folder, and those in stages of changes, by which a process that writes there is told from one that does not go on.
func listing(dir string) string {
	var b strings.Builder
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		if info, err := e.Info(); err == nil {
			fmt.Fprintln(&b, e.Name(), info.Size(), info.ModTime().UnixNano())
		}
		if e.IsDir() && (e.Name() == committed || stages.matches(e.Name()) || e.Name() == newFiles) {
			b.WriteString(listing(filepath.Join(dir, e.Name())))
		}
	}
	return b.String()
}

//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly || windows

package disk

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
)

// A mark (see newMark) is the lock of a file or folder, which another process or another mark of this one may hold: try takes it, until free or
// the end of the process. It outlives the open file that it was made of.

// errHeld is the error of mark.try if another has the lock. Other errors mean that there are no locks, and so no other process to wait for.
var errHeld = errors.New("locked")

// claim marks a temporary file or folder as in use until release or the end of the process, whether or not f is closed before.
func claim(f *os.File) (release func()) {
	m, err := newMark(f)
	if err != nil {
		return func() {}
	}
	_ = m.try()
	return m.free
}

// markOf returns the mark of a file or folder by its name.
func markOf(name string) (*mark, error) {
	f, err := openMarked(name, false)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return newMark(f)
}

// claimFolder claims a folder.
func claimFolder(dir string) (release func()) {
	m, err := markOf(dir)
	if err != nil {
		return func() {}
	}
	_ = m.try()
	return m.free
}

// await waits until nobody has claimed a folder, and claims it.
func await(ctx context.Context, dir string) (release func(), err error) {
	m, err := markOf(dir)
	if err != nil {
		return nil, err
	}
	if err := lock(ctx, m, dir); err != nil {
		m.free()
		return nil, err
	}
	return m.free, nil
}

// Lock waits until nobody else, in this process or another, changes several files of a folder that belong together. Changes end before their release.
// It is an error if the context ends meanwhile, or if nothing in the folder changes for Patience: the other process may be stopped. Where no lock can be made, there is none.
func Lock(ctx context.Context, dir string) (release func(), err error) {
	name := filepath.Join(dir, changing)
	for {
		var m *mark
		_ = unlessEnded(func() error {
			m, release, err = tryLock(name)
			return nil
		})
		switch {
		case err != nil:
			return func() {}, nil
		case release != nil:
			return release, nil
		}
		err = lock(ctx, m, name)
		m.free() // the next attempt opens what is there now
		if err != nil {
			return nil, err
		}
	}
}

// tryLock creates a file, and locks it if nobody has. It returns no release if somebody has, or has removed the file meanwhile.
func tryLock(name string) (m *mark, release func(), err error) {
	f, err := openMarked(name, true)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	if m, err = newMark(f); err != nil {
		return nil, nil, err
	}
	if m.try() == errHeld {
		return m, nil, nil
	}
	opened, err := f.Stat()
	if now, e := os.Lstat(name); err != nil || e != nil || !os.SameFile(opened, now) {
		return m, nil, nil
	}
	free := unfinish(name, m.free)
	return m, func() {
		_ = System.Remove(name)
		free()
	}, nil
}

// lock waits until it has the lock of a file or folder.
func lock(ctx context.Context, m *mark, name string) error {
	var w *wait
	for m.try() == errHeld {
		if w == nil {
			w = newWait(name, m.holder)
		}
		if err := w.once(ctx); err != nil {
			return err
		}
	}
	return nil
}

// abandoned reports whether a temporary file or folder is in use by nobody.
func abandoned(name string) bool {
	m, err := markOf(name)
	if err != nil {
		return false
	}
	defer m.free()
	return m.try() == nil
}

// occupied are the folders that this process has reserved, by their identity.
var occupied struct {
	sync.Mutex
	by map[string]*occupation
}

type occupation struct {
	mark  *mark
	times int
}

// Occupy reserves a folder for this process, until as many releases as calls or the end of the process. It is ErrOccupied if another process has
// reserved it. File systems without locks have nothing to reserve.
func Occupy(dir string) (release func(), err error) {
	occupied.Lock()
	defer occupied.Unlock()
	id := identity(dir)
	o := occupied.by[id]
	if o == nil || id == "" {
		m, err := markOf(dir)
		if err != nil {
			return nil, err
		}
		if m.try() == errHeld {
			m.free()
			return nil, fmt.Errorf("%s %w", dir, ErrOccupied)
		}
		if o = (&occupation{mark: m}); occupied.by == nil {
			occupied.by = map[string]*occupation{}
		}
		occupied.by[id] = o
	}
	o.times++
	return sync.OnceFunc(func() {
		occupied.Lock()
		defer occupied.Unlock()
		if o.times--; o.times == 0 {
			o.mark.free()
			if occupied.by[id] == o {
				delete(occupied.by, id)
			}
		}
	}), nil
}

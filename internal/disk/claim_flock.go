//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package disk

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"golang.org/x/sys/unix"
)

// claim marks a temporary file or folder as in use until release or the end of the process, whether or not f is closed before.
func claim(f *os.File) (release func()) {
	fd, err := unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return func() {}
	}
	unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB)
	return func() { unix.Close(fd) }
}

// claimFolder claims a folder.
func claimFolder(dir string) (release func()) {
	f, err := os.Open(dir)
	if err != nil {
		return func() {}
	}
	defer f.Close()
	return claim(f)
}

// await waits until nobody has claimed a folder, and claims it.
func await(ctx context.Context, dir string) (release func(), err error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	if err := lock(ctx, f); err != nil {
		f.Close()
		return nil, err
	}
	return func() { f.Close() }, nil
}

// Lock waits until nobody else, in this process or another, changes several files of a folder that belong together. Changes end before their release.
// It is an error if the context ends meanwhile, or if nothing in the folder changes for Patience: the other process may be stopped. Where no lock can be made, there is none.
func Lock(ctx context.Context, dir string) (release func(), err error) {
	name := filepath.Join(dir, changing)
	for {
		var f *os.File
		_ = unlessEnded(func() error {
			if f, err = os.OpenFile(name, os.O_RDONLY|os.O_CREATE|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0o666); err == nil && tryLock(f) {
				release = locked(f, name)
			}
			return nil
		})
		switch {
		case err != nil:
			return func() {}, nil
		case release != nil:
			return release, nil
		}
		if err := lock(ctx, f); err != nil {
			f.Close()
			return nil, err
		}
		f.Close() // the next attempt opens what is there now
	}
}

// locked returns the release of a locked file; nil: the one that held the lock before has removed the file.
func locked(f *os.File, name string) (release func()) {
	held, err := f.Stat()
	if now, e := os.Lstat(name); err != nil || e != nil || !os.SameFile(held, now) {
		return nil
	}
	free := unfinish(name, func() { f.Close() })
	return func() {
		_ = System.Remove(name)
		free()
	}
}

// tryLock locks an open file or folder until it is closed, unless somebody else has. A file system without locks has no other process to wait for.
func tryLock(f *os.File) bool {
	err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	return err != unix.EWOULDBLOCK && err != unix.EINTR
}

// lock waits until it can lock a file or folder.
func lock(ctx context.Context, f *os.File) error {
	var w *wait
	for !tryLock(f) {
		if w == nil {
			w = newWait(f.Name(), func() string { return holder(f) })
		}
		if err := w.once(ctx); err != nil {
			return err
		}
	}
	return nil
}

// abandoned reports whether a temporary file or folder is in use by nobody.
func abandoned(name string) bool {
	f, err := os.OpenFile(name, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return false
	}
	defer f.Close()
	return unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil
}

// occupied are the folders that this process has reserved, by their identity.
var occupied struct {
	sync.Mutex
	by map[string]*occupation
}

type occupation struct {
	file  *os.File
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
		f, err := os.Open(dir)
		if err != nil {
			return nil, err
		}
		if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err == unix.EWOULDBLOCK {
			f.Close()
			return nil, fmt.Errorf("%s %w", dir, ErrOccupied)
		}
		if o = (&occupation{file: f}); occupied.by == nil {
			occupied.by = map[string]*occupation{}
		}
		occupied.by[id] = o
	}
	o.times++
	return sync.OnceFunc(func() {
		occupied.Lock()
		defer occupied.Unlock()
		if o.times--; o.times == 0 {
			o.file.Close()
			if occupied.by[id] == o {
				delete(occupied.by, id)
			}
		}
	}), nil
}

// identity returns a text that identifies a folder on this machine and differs for a copy of it.
func identity(dir string) string {
	var s unix.Stat_t
	host, err := os.Hostname()
	if err != nil || unix.Lstat(dir, &s) != nil {
		return ""
	}
	return fmt.Sprintf("%s %d %d", host, s.Dev, s.Ino)
}

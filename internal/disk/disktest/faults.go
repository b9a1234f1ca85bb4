// Package disktest injects faults into the calls of package disk, one at a time.
package disktest

import (
	"io/fs"
	"os"
	"sync/atomic"
	"syscall"

	"github.com/graft-ml/graft/internal/disk"
)

// Fault is the injected outcome of a call.
type Fault int

// The faults.
const (
	Fails Fault = iota // the call fails, those after it work
	Down               // it and all after it fail: the disk is full, or gone
	Short              // a write writes half of its data, without an error; other calls fail
	Kill               // the process ends by SIGKILL, in a write after half of it
)

// Install makes the n-th call of disk.System a fault; n = 0: none. It returns the number of calls so
// far, and a function that restores the system.
func Install(n int, fault Fault) (calls func() int, restore func()) {
	whole := disk.System
	var count atomic.Int64
	broken := func(path string) error {
		k := int(count.Add(1))
		if n == 0 || k != n && (fault != Down || k < n) {
			return nil
		}
		if fault == Kill {
			die()
		}
		return &fs.PathError{Op: "fault", Path: path, Err: syscall.ENOSPC}
	}
	disk.System = disk.Calls{
		Create: func(name string) (*os.File, error) {
			if err := broken(name); err != nil {
				return nil, err
			}
			return whole.Create(name)
		},
		CreateNew: func(name string, mode fs.FileMode) (*os.File, error) {
			if err := broken(name); err != nil {
				return nil, err
			}
			return whole.CreateNew(name, mode)
		},
		Mkdir: func(dir string, mode fs.FileMode) error {
			return first(broken(dir), func() error { return whole.Mkdir(dir, mode) })
		},
		MkdirAll: func(dir string, mode fs.FileMode) error {
			return first(broken(dir), func() error { return whole.MkdirAll(dir, mode) })
		},
		Write: func(f *os.File, b []byte) (int, error) {
			k := int(count.Add(1))
			if n == 0 || k != n && (fault != Down || k < n) {
				return whole.Write(f, b)
			}
			written, err := whole.Write(f, b[:len(b)/2])
			switch {
			case fault == Kill:
				die()
			case err == nil && fault != Short:
				err = &fs.PathError{Op: "write", Path: f.Name(), Err: syscall.ENOSPC}
			}
			return written, err
		},
		Chmod: func(name string, mode fs.FileMode) error {
			return first(broken(name), func() error { return whole.Chmod(name, mode) })
		},
		Sync:  func(f *os.File) error { return first(broken(f.Name()), func() error { return whole.Sync(f) }) },
		Close: func(f *os.File) error { return either(broken(f.Name()), whole.Close(f)) },
		Rename: func(from, to string) error {
			return first(broken(from), func() error { return whole.Rename(from, to) })
		},
		Remove:     func(name string) error { return first(broken(name), func() error { return whole.Remove(name) }) },
		SyncFolder: func(dir string) error { return first(broken(dir), func() error { return whole.SyncFolder(dir) }) },
	}
	return func() int { return int(count.Load()) }, func() { disk.System = whole }
}

// first returns err or, if it is nil, the result of f.
func first(err error, f func() error) error {
	if err != nil {
		return err
	}
	return f()
}

func either(a, b error) error {
	if a != nil {
		return a
	}
	return b
}

// die ends the process as a kill from outside does: nothing deferred runs.
func die() {
	p, err := os.FindProcess(os.Getpid())
	if err == nil {
		err = p.Kill()
	}
	if err != nil {
		os.Exit(9)
	}
	select {} // until the signal arrives
}

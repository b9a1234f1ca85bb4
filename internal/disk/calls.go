// Package disk writes files, and folders of files, atomically: after an error, a crash or a kill at
// any moment either the old or the new files exist, and the next writer removes or completes what was
// begun.
package disk

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
)

// Calls are the calls of the operating system that change the contents of a disk.
type Calls struct {
	Create     func(name string) (*os.File, error)
	CreateNew  func(name string, mode fs.FileMode) (*os.File, error) // an error if it exists
	Mkdir      func(dir string, mode fs.FileMode) error              // an error if it exists
	MkdirAll   func(dir string, mode fs.FileMode) error
	Write      func(f *os.File, b []byte) (int, error)
	Chmod      func(name string, mode fs.FileMode) error
	Sync       func(f *os.File) error
	Close      func(f *os.File) error
	Rename     func(from, to string) error
	Remove     func(name string) error // a file or an empty folder
	SyncFolder func(dir string) error
}

// System are the calls that this package uses. Tests replace them, see disktest.
var System = Calls{
	os.Create, createNew, os.Mkdir, os.MkdirAll, (*os.File).Write, os.Chmod, (*os.File).Sync, (*os.File).Close, rename, remove, syncFolder,
}

// syncFolder makes a rename durable. If the system does not support it, there is nothing to wait for.
func syncFolder(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	if err := d.Sync(); err != nil && runtime.GOOS != "windows" && !errors.Is(err, syscall.EINVAL) && !errors.Is(err, errors.ErrUnsupported) {
		return err
	}
	return nil
}

// MkdirAll makes a folder and those above it, durably.
func MkdirAll(dir string) error {
	var above []string // the folders that new ones are made in
	for path := filepath.Clean(dir); !there(path); path = filepath.Dir(path) {
		above = append(above, filepath.Dir(path))
	}
	if err := makeAll(dir); err != nil {
		return err
	}
	for _, path := range above {
		_ = System.SyncFolder(path) // it is there either way
	}
	return nil
}

func makeAll(dir string) error {
	return unlessEnded(func() error { return System.MkdirAll(dir, 0o777) })
}

// Remove removes a file. A missing file is not an error.
func Remove(name string) error {
	if err := System.Remove(name); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// RemoveAll removes a file, or a folder and its contents. A missing one is not an error.
func RemoveAll(name string) error {
	info, err := os.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil && info.IsDir() {
		var entries []fs.DirEntry
		entries, err = os.ReadDir(name)
		for _, e := range entries {
			err = errors.Join(err, RemoveAll(filepath.Join(name, e.Name())))
		}
	}
	return errors.Join(err, Remove(name))
}

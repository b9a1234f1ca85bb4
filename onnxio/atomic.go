package onnxio

import (
	"bufio"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
)

// WriteFile creates or replaces a file by what write writes, all of it or nothing: it goes to a
// temporary file in the same folder, is flushed to the disk and then renamed, so that a crash
// leaves the old file or the new one. A file that is replaced keeps its permissions; what is no plain file, a pipe or
// /dev/null, is written to.
func WriteFile(name string, write func(w io.Writer) error) (err error) {
	mode := os.FileMode(0o644)
	if info, err := os.Stat(name); err == nil {
		if info.IsDir() {
			return &fs.PathError{Op: "write", Path: name, Err: errors.New("is a directory")}
		}
		if !info.Mode().IsRegular() {
			return writeThrough(name, write)
		}
		mode = info.Mode().Perm()
	}
	f, err := temporary(name)
	if err != nil {
		return about(name, err)
	}
	defer func() {
		if err != nil {
			f.Close()
			disk.remove(f.Name())
			err = about(name, err)
		}
	}()
	w := bufio.NewWriterSize(diskWriter{f}, 1<<16)
	if err := write(w); err != nil {
		return err
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if err := f.Chmod(mode); err != nil {
		return err
	}
	if err := disk.sync(f); err != nil {
		return err
	}
	if err := disk.close(f); err != nil {
		return err
	}
	if err := disk.rename(f.Name(), name); err != nil {
		return err
	}
	disk.syncFolder(filepath.Dir(name)) // the file is whole either way
	return nil
}

// disk is what files are written with. Tests put one in its place that fails.
var disk = struct {
	create      func(dir, pattern string) (*os.File, error)
	write       func(f *os.File, b []byte) (int, error)
	sync, close func(f *os.File) error
	rename      func(from, to string) error
	remove      func(name string) error
	syncFolder  func(dir string) error
}{os.CreateTemp, (*os.File).Write, (*os.File).Sync, (*os.File).Close, os.Rename, os.Remove, syncFolder}

type diskWriter struct{ *os.File }

func (w diskWriter) Write(b []byte) (int, error) { return disk.write(w.File, b) }

// temporary creates the file that will take the place of name, and removes those that processes which
// ended have left.
func temporary(name string) (*os.File, error) {
	dir, pattern := filepath.Dir(name), "."+filepath.Base(name)+".*.tmp"
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		if ours, _ := filepath.Match(pattern, e.Name()); ours && abandoned(filepath.Join(dir, e.Name())) {
			disk.remove(filepath.Join(dir, e.Name()))
		}
	}
	for {
		f, err := disk.create(dir, pattern)
		if err != nil {
			return nil, err
		}
		claim(f)
		if _, err := os.Lstat(f.Name()); err == nil {
			return f, nil
		}
		f.Close() // somebody took it for abandoned before it was claimed
	}
}

// writeThrough writes to what must not be replaced.
func writeThrough(name string, write func(w io.Writer) error) error {
	f, err := os.OpenFile(name, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	w := bufio.NewWriterSize(f, 1<<16)
	if err = write(w); err == nil {
		err = w.Flush()
	}
	return errors.Join(err, f.Close())
}

// about is an error about the temporary file, told of the one that was to be written.
func about(name string, err error) error {
	var path *fs.PathError
	var link *os.LinkError
	switch {
	case errors.As(err, &path):
		err = path.Err
	case errors.As(err, &link):
		err = link.Err
	default:
		return err
	}
	return &fs.PathError{Op: "write", Path: name, Err: err}
}

// syncFolder makes a rename durable. Where the system cannot, there is nothing to wait for.
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

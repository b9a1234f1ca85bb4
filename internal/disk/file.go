package disk

import (
	"bufio"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// WriteFile creates or replaces a file with the data that write writes, completely or not at all: they are written to a
// temporary file in the same folder, which is flushed to disk and then renamed, so that a crash leaves the old file or
// the new one. A replaced file keeps its permissions; targets that are not regular files, such as a pipe or /dev/null,
// are written to directly.
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
	if err := Settle(filepath.Dir(name)); err != nil {
		return err
	}
	f, release, err := temporary(name)
	if err != nil {
		return about(name, err)
	}
	defer release() // after the rename: until then nobody may take it for abandoned
	defer func() {
		if err != nil {
			f.Close()
			System.Remove(f.Name())
			err = about(name, err)
		}
	}()
	w := bufio.NewWriterSize(fileWriter{f}, 1<<16)
	if err := write(w); err != nil {
		return err
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if err := System.Chmod(f.Name(), mode); err != nil {
		return err
	}
	if err := System.Sync(f); err != nil {
		return err
	}
	if err := System.Close(f); err != nil {
		return err
	}
	if err := System.Rename(f.Name(), name); err != nil {
		return err
	}
	System.SyncFolder(filepath.Dir(name)) // the file is whole either way
	return nil
}

// CheckFile reports why a file cannot be written to a path, if so, before any work is done for it.
func CheckFile(name string) error {
	f, release, err := temporary(name)
	if err != nil {
		return about(name, err)
	}
	defer release()
	return errors.Join(System.Close(f), System.Remove(f.Name()))
}

// Writer writes to a file by System.
func Writer(f *os.File) io.Writer { return fileWriter{f} }

type fileWriter struct{ *os.File }

func (w fileWriter) Write(b []byte) (int, error) { return System.Write(w.File, b) }

// temporary creates the file that will take the place of name, and removes those that processes which
// ended have left.
func temporary(name string) (f *os.File, release func(), err error) {
	dir, pattern := filepath.Dir(name), "."+filepath.Base(name)+".*.tmp"
	sweep(dir, pattern)
	return claimed(dir, pattern)
}

// claimed creates a temporary file that is marked as in use.
func claimed(dir, pattern string) (f *os.File, release func(), err error) {
	for {
		f, err := System.CreateTemp(dir, pattern)
		if err != nil {
			return nil, nil, err
		}
		release := claim(f)
		if _, err := os.Lstat(f.Name()); err == nil {
			return f, release, nil
		}
		f.Close() // somebody took it for abandoned before it was claimed
		release()
	}
}

// sweep removes the temporary files and folders of a pattern that nobody uses.
func sweep(dir, pattern string) {
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		if ours, _ := filepath.Match(pattern, e.Name()); ours && abandoned(filepath.Join(dir, e.Name())) {
			_ = RemoveAll(filepath.Join(dir, e.Name()))
		}
	}
}

// Scratch creates a file for the time of a call, among the system's temporary ones, and removes those that processes which
// ended have left. The pattern is os.CreateTemp's.
func Scratch(pattern string) (f *os.File, release func(), err error) {
	sweep(os.TempDir(), pattern)
	f, free, err := claimed(os.TempDir(), pattern)
	if err != nil {
		return nil, nil, err
	}
	return f, func() {
		f.Close()
		System.Remove(f.Name())
		free()
	}, nil
}

// writeThrough writes to a target that must not be replaced.
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

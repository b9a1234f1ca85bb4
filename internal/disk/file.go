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
// the new one. A replaced file keeps its permissions, a new one has those that the process gives to files (umask). Targets
// that are not regular files, such as a pipe or /dev/null, are written to directly. A symbolic link is replaced; the file
// that it points to is not changed.
func WriteFile(name string, write func(w io.Writer) error) (err error) {
	mode, replaced := os.FileMode(0o666), false
	if info, err := os.Stat(name); err == nil {
		if info.IsDir() {
			return &fs.PathError{Op: "write", Path: name, Err: errors.New("is a directory")}
		}
		if !info.Mode().IsRegular() {
			return writeThrough(name, write)
		}
		mode, replaced = info.Mode().Perm(), true
	}
	if err := Settle(filepath.Dir(name)); err != nil {
		return err
	}
	f, release, err := temporary(name, mode)
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
	if replaced { // with permissions that the umask may have taken away
		if err := System.Chmod(f.Name(), mode); err != nil {
			return err
		}
	}
	if err := System.Sync(f); err != nil {
		return err
	}
	if err := System.Close(f); err != nil {
		return err
	}
	if err := unlessEnded(func() error { return System.Rename(f.Name(), name) }); err != nil {
		return err
	}
	System.SyncFolder(filepath.Dir(name)) // the file is whole either way
	return nil
}

// CheckFile reports why a file cannot be written to a path, if so, before any work is done for it.
func CheckFile(name string) error {
	f, release, err := temporary(name, 0o600)
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

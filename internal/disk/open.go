package disk

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/graft-ml/graft/internal/budget"
)

// File is a file or folder that is read. If a file is written to after it was opened, reading it is an error from then on.
type File struct {
	*os.File
	opened fs.FileInfo
	ctx    context.Context // ends reading; nil: nothing does
}

// Open opens a file or folder for reading. Pipes, sockets and devices are refused before they are opened: reading them can block
// for ever or never end.
func Open(name string) (*File, error) {
	if err := ordinary(name); err != nil {
		return nil, err
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	return Reading(f)
}

// Reading returns an open file whose content must not change while it is read. It closes the file after an error.
func Reading(f *os.File) (*File, error) {
	info, err := f.Stat()
	if err != nil {
		f.Close()
		return nil, err
	}
	return &File{File: f, opened: info}, nil
}

// Ordinary reports whether the file is a regular one, which can be read at any offset.
func (f *File) Ordinary() bool { return f.opened.Mode().IsRegular() }

// Until makes reading an error once ctx ends.
func (f *File) Until(ctx context.Context) { f.ctx = ctx }

// Read reads from the file.
func (f *File) Read(b []byte) (int, error) {
	n, err := Until(f.ctx, f.File).Read(b)
	return n, f.unchanged(err)
}

// ReadAt reads from an offset.
func (f *File) ReadAt(b []byte, at int64) (n int, err error) {
	for err == nil && n < len(b) {
		if f.ctx != nil && f.ctx.Err() != nil {
			return n, f.ctx.Err()
		}
		k := 0
		k, err = f.File.ReadAt(b[n:min(n+atOnce, len(b))], at+int64(n))
		n += k
	}
	return n, f.unchanged(err)
}

// WriteTo copies the rest of the file.
func (f *File) WriteTo(w io.Writer) (int64, error) { return io.Copy(w, struct{ io.Reader }{f}) }

// unchanged returns err, or that the file was written to since it was opened.
func (f *File) unchanged(err error) error {
	now, e := f.Stat()
	if e == nil && (now.Size() != f.opened.Size() || !now.ModTime().Equal(f.opened.ModTime())) && now.Mode().IsRegular() {
		return fmt.Errorf("%s was changed while it was read", f.Name())
	}
	return err
}

// Replaced reports whether another file has the name of the file now, or none.
func (f *File) Replaced() bool {
	now, err := os.Stat(f.Name())
	return err != nil || !os.SameFile(now, f.opened)
}

// ReadFile reads a whole file, charged to the memory budget for as long as its content is reachable, and refuses what Open refuses.
func ReadFile(name string) ([]byte, error) { return ReadFileUntil(context.Background(), name) }

// ReadFileUntil is ReadFile, and an error once ctx ends.
func ReadFileUntil(ctx context.Context, name string) ([]byte, error) {
	f, err := Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	f.Until(ctx)
	b, err := budget.ReadAll(f)
	if named := (*fs.PathError)(nil); err != nil && !errors.As(err, &named) {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return b, err
}

// Dir returns the files of a folder and those below it. It refuses what Open refuses.
func Dir(dir string) fs.FS { return tree(dir) }

type tree string

// Open opens a file by its path with slashes, relative to the folder.
func (t tree) Open(name string) (fs.File, error) {
	if fs.ValidPath(name) {
		if err := ordinary(filepath.Join(string(t), filepath.FromSlash(name))); err != nil {
			return nil, err
		}
	}
	f, err := os.DirFS(string(t)).Open(name)
	if file, ok := f.(*os.File); ok && err == nil {
		return Reading(file)
	}
	return f, err
}

func ordinary(name string) error {
	info, err := os.Stat(name)
	if err != nil {
		return nil // opening it says what is wrong
	}
	what := ""
	switch mode := info.Mode(); {
	case mode&fs.ModeNamedPipe != 0:
		what = "a pipe"
	case mode&fs.ModeSocket != 0:
		what = "a socket"
	case mode&(fs.ModeDevice|fs.ModeCharDevice) != 0:
		what = "a device"
	case mode&fs.ModeIrregular != 0:
		what = "neither a file nor a folder"
	default:
		return nil
	}
	return fmt.Errorf("%s is %s: write its content to a file first", name, what)
}

// ErrOccupied is the error of Occupy when another process has reserved the folder, and of a change whose files others wrote at the same time.
var ErrOccupied = errors.New("is being written to by another process")

// Exhausted reports whether an error is about the process or the machine, which have no file handle or memory left, and not about the file that
// was to be read: a later attempt may succeed.
func Exhausted(err error) bool {
	return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) || errors.Is(err, syscall.ENOMEM)
}

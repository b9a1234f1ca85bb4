package disk

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/graft-ml/graft/internal/budget"
)

// Open opens a file or folder for reading. Pipes, sockets and devices are refused before they are opened: reading them can block
// for ever or never end.
func Open(name string) (*os.File, error) {
	if err := ordinary(name); err != nil {
		return nil, err
	}
	return os.Open(name)
}

// ReadFile reads a whole file, charged to the memory budget for as long as its content is reachable, and refuses what Open refuses.
func ReadFile(name string) ([]byte, error) {
	f, err := Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
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
	return os.DirFS(string(t)).Open(name)
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

// ErrOccupied is the error of Occupy when another process has reserved the folder.
var ErrOccupied = errors.New("is being written to by another process")

// Exhausted reports whether an error is about the process or the machine, which have no file handle or memory left, and not about the file that
// was to be read: a later attempt may succeed.
func Exhausted(err error) bool {
	return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) || errors.Is(err, syscall.ENOMEM)
}

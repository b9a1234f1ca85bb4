package disk

import (
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// pattern are the names of temporary files and folders: a random number between a prefix and a suffix.
type pattern struct{ prefix, suffix string }

// hidden returns the pattern for what will take the place of name. Long names are shortened, so that the longest that the file system
// has room for can be written.
func hidden(name string) pattern {
	base := filepath.Base(name)
	if len(base) > 200 {
		base = strings.ToValidUTF8(base[:200], "")
	}
	return pattern{"." + base + ".", ".tmp"}
}

func (p pattern) matches(name string) bool {
	return len(name) > len(p.prefix)+len(p.suffix) && strings.HasPrefix(name, p.prefix) && strings.HasSuffix(name, p.suffix)
}

// create calls make with names of the pattern in a folder until one is not in use, and returns it.
func (p pattern) create(dir string, make func(path string) error) (path string, err error) {
	for range 10000 {
		path = filepath.Join(dir, p.prefix+strconv.FormatUint(uint64(rand.Uint32()), 10)+p.suffix)
		if err = make(path); !errors.Is(err, fs.ErrExist) {
			return path, err
		}
	}
	return path, err
}

// temporary creates the file that will take the place of name, and removes those that processes which
// ended have left, of which a stage of this process has none: thousands of files may be written to it.
func temporary(name string, mode fs.FileMode) (f *os.File, release func(), err error) {
	dir, p := filepath.Dir(name), hidden(name)
	if change, _ := Staged(name); change == nil {
		sweep(dir, p)
	}
	return claimed(dir, p, mode)
}

// claimed creates a temporary file that is marked as in use.
func claimed(dir string, p pattern, mode fs.FileMode) (f *os.File, release func(), err error) {
	unfinished.ending.RLock()
	defer unfinished.ending.RUnlock()
	for {
		_, err := p.create(dir, func(path string) (err error) {
			f, err = System.CreateNew(path, mode)
			return err
		})
		if err != nil {
			return nil, nil, err
		}
		release := claim(f)
		if _, err := os.Lstat(f.Name()); err == nil {
			return f, unfinish(f.Name(), release), nil
		}
		f.Close() // somebody took it for abandoned before it was claimed
		release()
	}
}

// sweep removes the temporary files and folders of a pattern that nobody uses.
func sweep(dir string, p pattern) {
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		if p.matches(e.Name()) && abandoned(filepath.Join(dir, e.Name())) {
			_ = RemoveAll(filepath.Join(dir, e.Name()))
		}
	}
}

// Scratch creates a file for the time of a call, among the system's temporary ones, and removes those that processes which ended have
// left. Its name is the given one with a random number in the place of "*". Other users cannot read it.
func Scratch(name string) (f *os.File, release func(), err error) {
	prefix, suffix, _ := strings.Cut(name, "*")
	p := pattern{prefix, suffix}
	sweep(os.TempDir(), p)
	f, free, err := claimed(os.TempDir(), p, 0o600)
	if err != nil {
		return nil, nil, err
	}
	return f, func() {
		f.Close()
		System.Remove(f.Name())
		free()
	}, nil
}

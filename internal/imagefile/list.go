package imagefile

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Named reports whether a file is an image, by its name, also one that cannot be read: it must not be ignored without a word.
func Named(name string) bool {
	return slices.Contains([]string{".jpg", ".jpeg", ".png", ".gif", ".bmp", ".webp", ".tif", ".tiff", ".ppm", ".pgm", ".pnm", ".heic", ".heif", ".avif", ".jxl", ".jp2"},
		strings.ToLower(filepath.Ext(name)))
}

// Entry is a file or folder of a folder, or what a link there leads to.
type Entry struct {
	Name string
	Dir  bool
}

// Entries lists a folder, without names that begin with a dot. A link that leads nowhere is an error unless it is an image by name, whose reading fails.
func Entries(dir string) (out []Entry, err error) {
	all, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	for _, e := range all {
		if strings.HasPrefix(e.Name(), ".") {
			continue
		}
		is := e.IsDir()
		if e.Type()&fs.ModeSymlink != 0 {
			info, err := os.Stat(filepath.Join(dir, e.Name()))
			if err != nil && !Named(e.Name()) {
				return nil, err
			}
			is = err == nil && info.IsDir()
		}
		out = append(out, Entry{e.Name(), is})
	}
	return out, nil
}

// List lists the images in a folder and in those below it, by their names. It follows links to folders, lists none twice, and leaves out names that
// begin with a dot.
func List(dir string) ([]string, error) { return list(dir, map[string]bool{}) }

// list is List without the folders that were seen, by their paths without links.
func list(dir string, seen map[string]bool) (out []string, err error) {
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return nil, err
	}
	if seen[real] {
		return nil, nil
	}
	seen[real] = true
	all, err := Entries(dir)
	if err != nil {
		return nil, err
	}
	for _, e := range all {
		path := filepath.Join(dir, e.Name)
		if e.Dir {
			below, err := list(path, seen)
			if err != nil {
				return nil, err
			}
			out = append(out, below...)
		} else if Named(path) {
			out = append(out, path)
		}
	}
	return out, nil
}

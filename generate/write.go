package generate

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// WriteTo writes the files into a folder, which is made if it is not there. They are written beside their places
// first and moved there when all are complete. Files of other names stay.
func (s *Source) WriteTo(dir string) (err error) {
	if info, err := os.Stat(dir); err == nil && !info.IsDir() {
		return fmt.Errorf("generate: %s is a file, want a folder", dir)
	}
	parent := filepath.Dir(filepath.Clean(dir))
	temp, err := os.MkdirTemp(parent, ".graft-*")
	if err != nil {
		var p *fs.PathError
		if errors.As(err, &p) {
			err = p.Err
		}
		return fmt.Errorf("generate: %s cannot be written: %w", dir, err)
	}
	defer os.RemoveAll(temp)
	for name, text := range s.Files {
		if err := os.WriteFile(filepath.Join(temp, name), text, 0o644); err != nil {
			return err
		}
	}
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) { // all at once
		if err := os.Chmod(temp, 0o755); err != nil {
			return err
		}
		return os.Rename(temp, dir)
	}
	for name := range s.Files {
		if err := os.Rename(filepath.Join(temp, name), filepath.Join(dir, name)); err != nil {
			return err
		}
	}
	return nil
}

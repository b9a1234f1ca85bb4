package generate

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/graft-ml/graft/internal/disk"
)

// WriteTo writes the files to a folder, which is created if necessary. Either all of them are written or none. Other files
// in the folder are kept.
func (s *Source) WriteTo(dir string) (err error) {
	if info, err := os.Stat(dir); err == nil && !info.IsDir() {
		return fmt.Errorf("generate: %s is a file, want a folder", dir)
	}
	if _, err := os.Stat(filepath.Dir(filepath.Clean(dir))); err != nil { // more likely a mistake than wanted
		var p *fs.PathError
		if errors.As(err, &p) {
			err = p.Err
		}
		return fmt.Errorf("generate: %s cannot be written: %w", dir, err)
	}
	change, err := disk.Begin(context.Background(), dir)
	if err != nil {
		return fmt.Errorf("generate: %s cannot be written: %w", dir, err)
	}
	defer change.Discard()
	for name, text := range s.Files {
		if err := change.Write(name, func(w io.Writer) error { _, err := w.Write(text); return err }); err != nil {
			return fmt.Errorf("generate: %w", err)
		}
	}
	if err := change.Commit(); err != nil {
		return fmt.Errorf("generate: %w", err)
	}
	return nil
}

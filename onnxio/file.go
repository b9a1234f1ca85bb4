package onnxio

import (
	"io"

	"github.com/graft-ml/graft/internal/disk"
)

// WriteFile creates or replaces a file by what write writes, all of it or nothing: it goes to a
// temporary file in the same folder, is flushed to the disk and then renamed, so that a crash
// leaves the old file or the new one. A file that is replaced keeps its permissions; what is not a regular file, a pipe or
// /dev/null, is written to.
func WriteFile(name string, write func(w io.Writer) error) error {
	if write == nil {
		return errNoWriter
	}
	return disk.WriteFile(name, write)
}

package onnxio

import (
	"io"

	"github.com/graft-ml/graft/internal/disk"
)

// WriteFile creates or replaces a file atomically with the output of write: it writes a temporary file in the same
// folder, flushes it to disk and renames it, so that a crash leaves the old file or the new one. A file that is replaced
// keeps its permissions. Anything except a regular file, such as a pipe or /dev/null, is written to directly.
func WriteFile(name string, write func(w io.Writer) error) error {
	if write == nil {
		return errNoWriter
	}
	return disk.WriteFile(name, write)
}

package onnxio

import (
	"io"

	"github.com/graft-ml/graft/internal/disk"
)

// WriteFile creates or replaces a file with what write writes, as a whole or not at all: it writes a temporary file in
// the same folder, flushes it to disk and renames it, so a crash leaves the old file or the new one. A file that is
// replaced keeps its permissions. Anything but a regular file, such as a pipe or /dev/null, is written to directly.
func WriteFile(name string, write func(w io.Writer) error) error {
	if write == nil {
		return errNoWriter
	}
	return disk.WriteFile(name, write)
}

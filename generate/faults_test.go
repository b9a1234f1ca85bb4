package generate_test

import (
	"path/filepath"
	"testing"

	"github.com/graft-ml/graft/generate"
	"github.com/graft-ml/graft/internal/disk/disktest"
)

// TestFaults: source and weights are written together, into a folder that is there or not.
func TestFaults(t *testing.T) {
	write := func(dir, text string) error {
		s := &generate.Source{Files: map[string][]byte{"m.go": []byte(text), "weights.safetensors": []byte(text)}}
		return s.WriteTo(filepath.Join(dir, "m"))
	}
	disktest.Sweep(t,
		disktest.Case{
			Name:    "replaced",
			Prepare: func(dir string) error { return write(dir, "old") },
			Do:      func(dir string) error { return write(dir, "new") },
		},
		disktest.Case{
			Name:    "new",
			Prepare: func(string) error { return nil },
			Do:      func(dir string) error { return write(dir, "new") },
		},
	)
}

package data

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/graft-ml/graft/internal/budget"
)

// TestLabelMemory: the labels of a set of tiny images take eight times their file, which is charged.
func TestLabelMemory(t *testing.T) {
	budget.Limit(4 << 20)
	defer budget.Limit(0)
	dir, n := t.TempDir(), byte(8) // times 2¹⁶
	images, labels := filepath.Join(dir, "images"), filepath.Join(dir, "labels")
	for path, head := range map[string][]byte{images: {0, 0, 8, 3, 0, n, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1}, labels: {0, 0, 8, 1, 0, n, 0, 0}} {
		if err := os.WriteFile(path, append(head, make([]byte, int(n)<<16)...), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := IDX(images, labels); !errors.As(err, new(*budget.Error)) {
		t.Errorf("half a million labels with 4 MB: %v", err)
	}
	budget.Limit(64 << 20)
	if s, err := IDX(images, labels); err != nil || s.Len() != int(n)<<16 {
		t.Error(s, err)
	}
}

package train

import (
	"os"
	"testing"
)

type writer []byte

func (w *writer) Write(b []byte) (int, error) {
	*w = append(*w, b...)
	return len(b), nil
}

func (w writer) save(t *testing.T, path string) {
	t.Helper()
	if err := os.WriteFile(path, w, 0o600); err != nil {
		t.Fatal(err)
	}
}

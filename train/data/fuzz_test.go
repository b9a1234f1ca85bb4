package data_test

import (
	"archive/zip"
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/graft-ml/graft/train/data"
)

// FuzzNPZ reads archives of one array of any bytes, and any bytes as archive.
func FuzzNPZ(f *testing.F) {
	for _, name := range []string{"small.npy", "fortran.npy", "tall.npy"} {
		b, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b[:min(len(b), 4096)], false)
	}
	b, err := os.ReadFile("testdata/set.npz")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b, true)
	f.Add([]byte("\x93NUMPY\x01\x00\x46\x00{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999, 9), }   \n"), false)
	f.Fuzz(func(t *testing.T, b []byte, whole bool) {
		if !whole {
			var z bytes.Buffer
			w := zip.NewWriter(&z)
			for _, name := range []string{"x.npy", "y.npy"} {
				e, err := w.Create(name)
				if err == nil {
					_, err = e.Write(b)
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			b = z.Bytes()
		}
		path := filepath.Join(t.TempDir(), "f.npz")
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		if s, err := data.NPZ(path, "x", "y"); err == nil && s.Len() > 0 {
			if _, err := s.At(0, nil); err != nil {
				t.Errorf("sample 0 of %d: %v", s.Len(), err)
			}
		}
	})
}

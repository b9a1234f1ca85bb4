package train

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/graft-ml/graft/nn/dtype"
	"gorgonia.org/tensor"
)

// readState reads a state file.
func readState(path string) (map[string]*tensor.Dense, map[string]string, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, nil, err
	}
	stored, text, err := parseState(path, b)
	delete(text, checksum)
	tensors := map[string]*tensor.Dense{}
	for name, s := range stored {
		tensors[name] = dtype.New(s.dtype, s.shape...)
		s.copyTo(tensors[name])
	}
	return tensors, text, err
}

// FuzzState reads checkpoints of any bytes. What is read is written, and read again the same; nothing is allocated
// that the file does not hold.
func FuzzState(f *testing.F) {
	for _, tensors := range []map[string]*tensor.Dense{nil, {"a": dtype.New(dtype.Float32, 2, 3), "b": dtype.New(dtype.Int64), "c": dtype.New(dtype.Bool, 0, 4)}} {
		var b bytes.Buffer
		if err := writeState(&b, tensors, map[string]string{"graft.train": "{}"}); err != nil {
			f.Fatal(err)
		}
		f.Add(b.Bytes())
	}
	head := func(s string) []byte { return append([]byte{byte(len(s)), 0, 0, 0, 0, 0, 0, 0}, s...) }
	f.Add(head(`{"a":{"dtype":"F32","shape":[4611686018427387904,4],"data_offsets":[0,0]}}`))
	f.Add(head(`{"a":{"dtype":"F32","shape":[-1],"data_offsets":[-4,0]},"__metadata__":{"x":"y"}}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		path := filepath.Join(t.TempDir(), "state")
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		tensors, text, err := readState(path)
		if err != nil {
			return
		}
		var first, second bytes.Buffer
		if err := writeState(&first, tensors, text); err != nil {
			t.Fatalf("is read but not written: %v", err)
		}
		if err := os.WriteFile(path, first.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
		if tensors, text, err = readState(path); err != nil {
			t.Fatalf("is written but not read: %v", err)
		}
		if err := writeState(&second, tensors, text); err != nil || !bytes.Equal(first.Bytes(), second.Bytes()) {
			t.Fatalf("a second time written, other bytes: %v", err)
		}
	})
}

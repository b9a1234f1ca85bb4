package onnxio

import (
	"cmp"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/graft-ml/graft/internal/npy"
	"github.com/graft-ml/graft/internal/oracle"
	"github.com/graft-ml/graft/nn/dtype"
)

// readBack loads X.pb with ONNX's Python package and X.npy with NumPy and compares them, checks
// the sequence and the optional, and writes the arrays again as back/X.npy.
const readBack = `
import glob, os, sys
import numpy as np
from onnx import OptionalProto, SequenceProto, TensorProto, numpy_helper
os.mkdir("back")
for name in sorted(glob.glob("*.npy")):
    p = TensorProto()
    p.ParseFromString(open(name[:-4] + ".pb", "rb").read())
    want, got = np.load(name), numpy_helper.to_array(p)
    assert p.name == name[:-4], (name, p.name)
    if want.dtype.kind == "U":
        got = np.array([s if isinstance(s, str) else s.decode() for s in got.ravel()], want.dtype).reshape(got.shape)
    assert want.shape == got.shape and want.dtype == got.dtype, (name, want.dtype, got.dtype, want.shape, got.shape)
    assert want.tobytes() == got.tobytes(), name
    np.save("back/" + name, np.asfortranarray(got) if got.ndim else got)
s = SequenceProto()
s.ParseFromString(open("sequence.pb", "rb").read())
assert [a.shape for a in numpy_helper.to_list(s)] == [(3, 5), (0, 2)]
o = OptionalProto()
o.ParseFromString(open("optional.pb", "rb").read())
assert numpy_helper.to_optional(o).shape == (3, 5)
`

// python returns a Python interpreter that has the onnx package; the test is skipped without one.
func python(t *testing.T) string {
	name := cmp.Or(os.Getenv("GRAFT_PYTHON"), "/usr/bin/python3")
	if out, err := exec.Command(name, "-c", "import onnx, numpy").CombinedOutput(); err != nil {
		if oracle.Required() {
			t.Fatalf("%s with onnx and numpy is not there: %v\n%s", name, err, out)
		}
		t.Skipf("%s with onnx and numpy is not there (set GRAFT_PYTHON): %v\n%s", name, err, out)
	}
	return name
}

func TestPythonReadsOurs(t *testing.T) {
	interpreter := python(t)
	dir := t.TempDir()
	write := func(name string, f func(w io.Writer) error) {
		if err := WriteFile(filepath.Join(dir, name), f); err != nil {
			t.Fatal(err)
		}
	}
	r := rand.New(rand.NewPCG(6, 6))
	values := map[string]dtype.Value{}
	for _, dt := range dtype.All() {
		if npy.Write(io.Discard, random(t, dt, r)) != nil {
			continue // NumPy lacks the type
		}
		for suffix, shape := range map[string][]int{"": {3, 5}, "_scalar": nil, "_empty": {0, 2}} {
			name := dt.String() + suffix
			v := random(t, dt, r, shape...)
			values[name] = v
			write(name+".pb", func(w io.Writer) error { return WriteTensor(w, NamedValue{name, v}) })
			write(name+".npy", func(w io.Writer) error { return npy.Write(w, v) })
		}
	}
	seq := &dtype.Sequence{Items: []dtype.Value{values["int8"], values["int8_empty"]}}
	write("sequence.pb", func(w io.Writer) error { return WriteValue(w, NamedValue{"s", seq}) })
	opt := &dtype.Optional{Item: values["float32"]}
	write("optional.pb", func(w io.Writer) error { return WriteValue(w, NamedValue{"o", opt}) })
	cmd := exec.Command(interpreter, "-c", readBack)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for name, want := range values {
		f, err := os.Open(filepath.Join(dir, "back", name+".npy"))
		if err != nil {
			t.Fatal(err)
		}
		got, err := npy.Read(f)
		f.Close()
		if err != nil || !same(got, want) {
			t.Errorf("%s came back as %v: %v", name, got, err)
		}
	}
}

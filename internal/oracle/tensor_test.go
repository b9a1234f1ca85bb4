package oracle_test

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/graft-ml/graft/internal/oracle"
)

func TestHalf(t *testing.T) {
	for bits, want := range map[uint16]float64{
		0x0000: 0, 0x3c00: 1, 0xc000: -2, 0x7bff: 65504, 0x0001: math.Ldexp(1, -24), 0x03ff: math.Ldexp(1023, -24),
		0x3555: 0.333251953125, 0x7c00: math.Inf(1), 0xfc00: math.Inf(-1),
	} {
		x := oracle.Tensor{DType: "float16", Shape: []int{1}, Data: []byte{byte(bits), byte(bits >> 8)}}
		got, err := x.Float64s()
		if err != nil || got[0] != want {
			t.Errorf("%#04x is %v, %v; want %v", bits, got, err, want)
		}
	}
}

func TestClose(t *testing.T) {
	f := func(v ...float32) oracle.Tensor {
		x, err := oracle.Pack(v, len(v))
		if err != nil {
			t.Fatal(err)
		}
		return x
	}
	nan := float32(math.NaN())
	inf := float32(math.Inf(1))
	for _, c := range []struct {
		name      string
		got, want oracle.Tensor
		err       string
	}{
		{"equal", f(1, nan, inf), f(1, nan, inf), ""},
		{"within", f(1.0009), f(1), ""},
		{"beyond", f(1, 1.01), f(1, 1), "element 1 is 1.01"},
		{"worst", f(2, 9), f(1, 1), "element 1"},
		{"shape", f(1), f(1, 1), "float32[1], want float32[2]"},
		{"not a number", f(nan), f(1), "element 0 is NaN"},
		{"infinite", f(1), f(inf), "element 0"},
		{"type", oracle.Tensor{DType: "int8", Shape: []int{1}, Data: []byte{1}}, f(1), "got int8"},
	} {
		err := oracle.Close(c.got, c.want, 1e-3, 0)
		if c.err == "" && err != nil || c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)) {
			t.Errorf("%s: %v, want %q", c.name, err, c.err)
		}
	}
}

func TestNPZRefuses(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.npz")
	if err := os.WriteFile(path, []byte("PK nonsense"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := oracle.NPZ(path); err == nil {
		t.Error("nonsense was read")
	}
}

// TestTorchAndNPZ checks that NPZ reads every array that PyTorch writes, with its type, shape and values.
func TestTorchAndNPZ(t *testing.T) {
	dir := t.TempDir()
	script := filepath.Join(dir, "write.py")
	if err := os.WriteFile(script, []byte(`import sys, numpy as np, torch
np.savez(sys.argv[1], a=torch.arange(6.).reshape(2, 3).numpy(), b=np.array([-1, 2**40]), c=np.float64(0.5), d=np.array([[True], [False]]))
print("done", end="")
`), 0o600); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "x.npz")
	if got := string(oracle.Torch(t, script, path)); got != "done" {
		t.Errorf("printed %q", got)
	}
	arrays, err := oracle.NPZ(path)
	if err != nil {
		t.Fatal(err)
	}
	must := func(x oracle.Tensor, err error) oracle.Tensor {
		if err != nil {
			t.Fatal(err)
		}
		return x
	}
	for name, want := range map[string]oracle.Tensor{
		"a": must(oracle.Pack([]float32{0, 1, 2, 3, 4, 5}, 2, 3)),
		"b": must(oracle.Pack([]int64{-1, 1 << 40}, 2)),
		"c": must(oracle.Pack([]float64{0.5})),
		"d": must(oracle.Pack([]bool{true, false}, 2, 1)),
	} {
		if err := oracle.Close(arrays[name], want, 0, 0); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

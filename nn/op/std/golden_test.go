package std_test

import (
	"os"
	"strings"
	"testing"

	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op/optest"
	"github.com/graft-ml/graft/nn/op/std"
)

// TestGolden compares every operator with values that ONNX Runtime and NumPy computed; testdata/golden has the script.
func TestGolden(t *testing.T) {
	eachGolden(t, func(t *testing.T, _ string, cases []optest.Case) {
		for _, c := range cases {
			if err := optest.Check(golden(c)); err != nil {
				t.Errorf("%s: %v", c.Name, err)
			}
		}
	})
}

// eachGolden reads the files of expected values, one for each operator.
func eachGolden(t *testing.T, f func(t *testing.T, name string, cases []optest.Case)) {
	fsys := os.DirFS("testdata/golden")
	entries, err := os.ReadDir("testdata/golden")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		name, ok := strings.CutSuffix(e.Name(), ".jsonl")
		if !ok {
			continue
		}
		t.Run(name, func(t *testing.T) {
			cases, err := optest.Golden(fsys, e.Name(), std.Operators())
			if err != nil {
				t.Fatal(err)
			}
			f(t, name, cases)
		})
	}
}

// golden completes a case that a file gives. Attributes and shape inputs do not follow a cut there, and 16-bit floats are
// too coarse for differences.
func golden(c optest.Case) optest.Case {
	c.NoCut = "the cases beside the operators have what follows a cut"
	for _, v := range c.In {
		if v == nil || c.NoGrad != "" {
			continue
		}
		if t := dtype.DTypeOf(v); t.IsFloat() && t.Bits() < 32 {
			c.NoGrad = "16 bits"
		}
	}
	return c
}

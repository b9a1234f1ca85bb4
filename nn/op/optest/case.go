package optest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/coupling"
)

// Case is one use of an operator.
type Case struct {
	Name    string        // name of the subtest
	Ops     op.Set        // zero: std.Operators(), with Config if that is an *op.Op
	Config  op.Config     // of the operator and its attributes
	Version int           // since-version; 0: the latest
	Opset   int           // operator set of the model; 0: Version
	In      []dtype.Value // nil for those absent; floating-point inputs must be away from kinks and ties
	Outputs int           // number of formal outputs; 0: 1
	Skip    []int         // outputs that have no name
	Train   bool          // batch statistics and dropout are on
	Key     [2]uint64     // of random operators: seed and step

	Refusal string // for Fails: part of the error's text

	Want []dtype.Value // expected outputs; nil elements are not compared
	Tol  float64       // of floats, relative and absolute; 0: 1e-5 (float16 2e-3, bfloat16 2e-2 at least)

	Constant []int // floating-point inputs whose gradients are not compared

	GradTol float64 // of gradients; 0: 1e-6
	NoGrad  string  // why gradients are not compared in this case; "": they are
	NoCut   string  // why no channel is removed in this case; "": one is
	NoLow   string  // why float16 is not compared with float64; "": it is
	NoWide  string  // why float32 is not compared with float64; "": it is

	// Resize adapts attributes or shape inputs to the removal of channels, in a copy of the case whose data inputs have
	// already been cut. cut lists the removed indices of each axis, ascending.
	Resize func(c *Case, cut map[coupling.Axis][]int)

	decoded bool // Config comes from attributes: its zeros are zeros
}

// step is one of the checks.
type step struct {
	name string
	run  func(*Case) error
}

func steps() []step {
	return []step{
		{"validate", (*Case).checkDeclaration},
		{"config", (*Case).checkConfig},
		{"forward", (*Case).checkForward},
		{"shapes", (*Case).checkShapes},
		{"dims", (*Case).checkDims},
		{"partly known", (*Case).checkPartly},
		{"kernel", (*Case).checkKernel},
		{"rows", (*Case).checkRows},
		{"fused", (*Case).checkFused},
		{"precision", (*Case).checkPrecision},
		{"gradient", (*Case).checkGradient},
		{"machines", (*Case).checkMachines},
		{"cut", (*Case).checkCut},
	}
}

// Check runs all checks on a case. The error names the first that failed.
func Check(c Case) error {
	for _, s := range steps() {
		if err := guard(func() error { return s.run(&c) }); err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
	}
	return nil
}

// guard returns a panic as an error, which is the result of a check.
func guard(f func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v", r)
		}
	}()
	return f()
}

// Run checks cases as subtests.
func Run(t *testing.T, cases ...Case) {
	t.Helper()
	for i, c := range cases {
		name := c.Name
		if name == "" {
			name = fmt.Sprint(i)
		}
		t.Run(name, func(t *testing.T) {
			t.Helper()
			if err := Check(c); err != nil {
				t.Error(err)
			}
		})
	}
}

// Fails checks that the call of a case is refused with an error that contains Refusal, rather than a panic.
func Fails(t *testing.T, c Case) {
	t.Helper()
	panicked := true
	err := guard(func() error {
		g, err := c.build(c.In)
		if err == nil {
			_, err = g.forward(nil)
		}
		panicked = false
		return err
	})
	switch {
	case c.Refusal == "":
		t.Errorf("%s: the case does not say what the error should be", c.Name)
	case err == nil || panicked:
		t.Errorf("%s: want an error, got %v", c.Name, err)
	case !strings.Contains(err.Error(), c.Refusal):
		t.Errorf("%s: got %q, want %q in it", c.Name, err, c.Refusal)
	}
}

// Forward computes the outputs of a case.
func Forward(c Case) (out []dtype.Value, err error) {
	err = guard(func() error {
		g, err := c.build(c.In)
		if err == nil {
			out, err = g.forward(nil)
		}
		return err
	})
	return out, err
}

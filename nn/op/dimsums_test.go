package op

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"testing"
)

// TestDimArithmetic compares sums, differences, products and quotients of lengths with those of numbers without bounds: what no int
// holds becomes the largest.
func TestDimArithmetic(t *testing.T) {
	list := []int{0, 1, 2, 3, 7, 1 << 31, 1<<32 + 1, math.MaxInt / 2, math.MaxInt - 1, math.MaxInt}
	bounded := func(x *big.Int) int {
		if !x.IsInt64() {
			return math.MaxInt
		}
		return int(x.Int64())
	}
	for _, a := range list {
		for _, b := range list {
			x, y := big.NewInt(int64(a)), big.NewInt(int64(b))
			for name, c := range map[string][2]int{
				"+":   {D(a).Add(D(b)).Size, bounded(new(big.Int).Add(x, y))},
				"*":   {D(a).Mul(D(b)).Size, bounded(new(big.Int).Mul(x, y))},
				"max": {D(a).Max(D(b)).Size, max(a, b)},
				"min": {D(a).Min(D(b)).Size, min(a, b)},
			} {
				if c[0] != c[1] {
					t.Errorf("%d %s %d is %d, want %d", a, name, b, c[0], c[1])
				}
			}
			if got := D(a).Sub(D(b)); a >= b && got.Size != a-b {
				t.Errorf("%d - %d is %v", a, b, got)
			}
			if got := D(a).Div(D(b)); b > 0 && got.Size != a/b || b == 0 && got.Known() {
				t.Errorf("%d / %d is %v", a, b, got)
			}
		}
	}
}

// TestAtRun: errors of operators get the stage; those that have one, and others, are nobody's here.
func TestAtRun(t *testing.T) {
	plain := &Error{Op: "Add", Node: "sum", Err: errors.New("too long")}
	got := AtRun(fmt.Errorf("around: %w", plain))
	if got == nil || got.Stage != "run" || got.Op != "Add" || got.Node != "sum" || plain.Stage != "" {
		t.Errorf("got %+v of %+v", got, plain)
	}
	for _, err := range []error{nil, errors.New("another"), &Error{Stage: "run", Op: "Add"}, fmt.Errorf("in a loop: %w", &Error{Stage: "infer"})} {
		if got := AtRun(err); got != nil {
			t.Errorf("of %v: %v", err, got)
		}
	}
}

// TestNilAmong: nil among calls and nodes is refused or left out.
func TestNilAmong(t *testing.T) {
	to := func(string) int { return 20 }
	for _, calls := range [][]*Call{nil, {nil}, {{}}} {
		if _, err := NewSet(nil).Spell(&Part{}, calls, nil, to); err == nil {
			t.Errorf("calls %v are written", calls)
		}
	}
	for _, p := range []*Part{nil, {Config: Plain("Probe")}} {
		of := to
		if p != nil {
			of = nil
		}
		for _, respell := range []func(*Part, int, func(string) int) ([]*Part, error){NewSet(nil).Respell, NewSet(nil).Decompose} {
			_, err := respell(p, 1, of)
			wants(t, "nil", err, "takes a part and the versions of operator sets")
		}
	}
}

// TestPlaceOnce: what an operator finds inside of itself is not preceded by its name twice.
func TestPlaceOnce(t *testing.T) {
	c := &Call{Op: &Op{Name: "Gather"}, Node: "rows"}
	inner := c.Errorf("index %d is outside", 7)
	for _, x := range []struct {
		err  error
		want string
	}{
		{c.Errorf("%w", inner), "Gather rows: index 7 is outside"},
		{&Error{Stage: "run", Op: "Gather", Node: "rows", Err: inner}, "run: Gather rows: index 7 is outside"},
		{&Error{Stage: "run", Op: "Gather", Node: "rows", Err: &Error{Stage: "run", Op: "Gather", Node: "rows", Input: "X", Got: 1}}, "run: Gather rows: input X: got 1"},
		{&Error{Stage: "lower", Op: "Gather", Node: "rows", Err: &Error{Stage: "run", Op: "Gather", Node: "rows", Err: errors.New("late")}}, "lower: Gather rows: run: late"},
		{&Error{Op: "If", Node: "rows", Err: inner}, "If rows: Gather rows: index 7 is outside"},
	} {
		if got := x.err.Error(); got != x.want {
			t.Errorf("%q, want %q", got, x.want)
		}
	}
}

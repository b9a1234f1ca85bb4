package optest

import (
	"fmt"
	"slices"

	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
)

// takes reports whether input i may have elements of type t: the type variable of its slot
// includes t among others.
func takes(o *op.Op, i int, t dtype.DType) bool {
	s, ok := op.At(o.In.List(), i)
	if !ok {
		return false
	}
	if _, err := dtype.Parse(s.Type); err == nil {
		return false
	}
	allowed := o.Where[s.Type]
	return allowed == nil || slices.Contains(allowed, t)
}

// inputsAs converts the float inputs to t where they may have it; false if none does.
func (c *Case) inputsAs(t dtype.DType) ([]dtype.Value, bool) {
	in, some := slices.Clone(c.In), false
	for i, v := range in {
		if isFloat(v) && dtype.DTypeOf(v).Bits() >= 32 && takes(c.op(), i, t) {
			in[i], some = As(t, dense(v)), true
		}
	}
	return in, some
}

// checkPrecision compares float32 with float64, and float16 with float64 on inputs that both can hold.
func (c *Case) checkPrecision() error {
	if c.op().Random {
		return nil
	}
	if c.NoWide == "" && (c.NoLow == "" || !coarse(c.In)) {
		if err := c.compareTypes(c.In, resolution(c.In, c.tolerance())); err != nil {
			return fmt.Errorf("float64: %w", err)
		}
	}
	if in, ok := c.inputsAs(dtype.Float16); ok && c.NoLow == "" {
		low := *c
		low.In = in
		if err := low.compareTypes(in, 2e-2); err != nil {
			return fmt.Errorf("float16: %w", err)
		}
	}
	return nil
}

// compareTypes computes the outputs on in and on the same numbers in float64.
func (c *Case) compareTypes(in []dtype.Value, tol float64) error {
	wide, some := slices.Clone(in), false
	for i, v := range in {
		if isFloat(v) && dtype.DTypeOf(v).Bits() >= 16 && takes(c.op(), i, dtype.Float64) {
			wide[i], some = As(dtype.Float64, dense(v)), true
		}
	}
	if !some {
		return nil
	}
	out := [2][]dtype.Value{}
	for k, values := range [][]dtype.Value{in, wide} {
		b, err := c.build(values)
		if err != nil {
			return err
		}
		if out[k], err = b.forward(nil); err != nil {
			return err
		}
	}
	for i, v := range out[0] {
		if v == nil {
			continue
		}
		w := out[1][i]
		if isFloat(v) && isFloat(w) {
			v, w = As(dtype.Float64, dense(v)), As(dtype.Float64, dense(w))
		}
		if err := Compare(v, w, tol); err != nil {
			return fmt.Errorf("output %d: %w", i, err)
		}
	}
	return nil
}

// resolution returns the tolerance of results computed from in: at least the resolution of 16-bit floats.
func resolution(in []dtype.Value, tol float64) float64 {
	for _, v := range in {
		switch {
		case v == nil:
		case dtype.DTypeOf(v) == dtype.Float16:
			tol = max(tol, 2e-3)
		case dtype.DTypeOf(v) == dtype.BFloat16:
			tol = max(tol, 2e-2)
		}
	}
	return tol
}

// coarse reports whether an input has floats of 16 bits.
func coarse(in []dtype.Value) bool { return resolution(in, 0) > 0 }

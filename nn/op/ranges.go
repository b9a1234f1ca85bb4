package op

import "github.com/graft-ml/graft/nn/op/trait"

// RangeFirst returns a Traits.Range for operators that move, select or average elements of input 0.
func RangeFirst(_ *Call, in func(i int) trait.Interval) trait.Interval {
	if in == nil {
		return trait.Anywhere()
	}
	return in(0)
}

// RangeOf returns a Traits.Range for operators whose results are always in the given interval.
func RangeOf(lo, hi float64) func(*Call, func(int) trait.Interval) trait.Interval {
	return func(*Call, func(int) trait.Interval) trait.Interval { return trait.Interval{Lo: lo, Hi: hi} }
}

// RangeHull returns a Traits.Range for operators that select elements of all inputs.
func RangeHull(c *Call, in func(i int) trait.Interval) trait.Interval {
	if c == nil || in == nil {
		return trait.Anywhere()
	}
	r := in(0)
	for i := 1; i < len(c.In); i++ {
		r = r.Hull(in(i))
	}
	return r
}

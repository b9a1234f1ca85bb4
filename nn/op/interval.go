package op

import "math"

// Interval is where the elements of a value are, ends included.
type Interval struct{ Lo, Hi float64 }

// Anywhere is the interval of all numbers.
var Anywhere = Interval{math.Inf(-1), math.Inf(1)}

// nonNegative is the interval of numbers from 0 on.
var nonNegative = Interval{0, math.Inf(1)}

// Hull is the smallest interval that holds r and s.
func (r Interval) Hull(s Interval) Interval {
	return Interval{math.Min(r.Lo, s.Lo), math.Max(r.Hi, s.Hi)}
}

// clamped is where min(max(x, lo), hi) is for x in r, lo and hi in intervals.
func (r Interval) clamped(lo, hi Interval) Interval {
	return Interval{math.Min(math.Max(r.Lo, lo.Lo), hi.Lo), math.Min(math.Max(r.Hi, lo.Hi), hi.Hi)}
}

// RangeFirst is the rule of operators that move or choose elements of input 0, or average them.
func RangeFirst(_ *Call, in func(i int) Interval) Interval { return in(0) }

// RangeOf is the rule of operators whose results are in an interval whatever they read.
func RangeOf(lo, hi float64) func(*Call, func(int) Interval) Interval {
	return func(*Call, func(int) Interval) Interval { return Interval{lo, hi} }
}

// RangeHull is the rule of operators that choose among elements of all inputs.
func RangeHull(c *Call, in func(i int) Interval) Interval {
	r := in(0)
	for i := 1; i < len(c.In); i++ {
		r = r.Hull(in(i))
	}
	return r
}

// rangeSum is the rule of sums.
func rangeSum(c *Call, in func(i int) Interval) Interval {
	r := in(0)
	for i := 1; i < len(c.In); i++ {
		s := in(i)
		r = Interval{r.Lo + s.Lo, r.Hi + s.Hi}
	}
	return r
}

// rangeNonNegative is the rule of norms and the like.
func rangeNonNegative(*Call, func(i int) Interval) Interval { return nonNegative }

// rangePositive is that of max(0, x).
func rangePositive(_ *Call, in func(i int) Interval) Interval {
	return in(0).clamped(Interval{}, Interval{math.Inf(1), math.Inf(1)})
}

// rangeProduct is the rule of products of numbers that are not negative.
func rangeProduct(c *Call, in func(i int) Interval) Interval {
	for i := range c.In {
		if !(in(i).Lo >= 0) {
			return Anywhere
		}
	}
	return nonNegative
}

// rangeScaled is the rule of operators that scale or add up elements of input 0 which are not negative.
func rangeScaled(_ *Call, in func(i int) Interval) Interval {
	if in(0).Lo >= 0 {
		return nonNegative
	}
	return Anywhere
}

// rangeShrunk is the rule of functions with 0 ≤ f(x) ≤ x for x ≥ 0.
func rangeShrunk(_ *Call, in func(i int) Interval) Interval {
	if r := in(0); r.Lo >= 0 {
		return Interval{0, r.Hi}
	}
	return Anywhere
}

// rangePadded is the rule of operators whose windows may read zeros beside elements of input 0.
func rangePadded(_ *Call, in func(i int) Interval) Interval { return in(0).Hull(Interval{}) }

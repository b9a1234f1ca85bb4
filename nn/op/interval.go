package op

import "math"

// Interval is where the elements of a value are, ends included.
type Interval struct{ Lo, Hi float64 }

// Anywhere is the interval of all numbers.
var Anywhere = Interval{math.Inf(-1), math.Inf(1)}

// Hull is the smallest interval that holds r and s.
func (r Interval) Hull(s Interval) Interval {
	return Interval{math.Min(r.Lo, s.Lo), math.Max(r.Hi, s.Hi)}
}

// Clamped is where min(max(x, lo), hi) is for x in r, lo and hi in intervals.
func (r Interval) Clamped(lo, hi Interval) Interval {
	return Interval{math.Min(math.Max(r.Lo, lo.Lo), hi.Lo), math.Min(math.Max(r.Hi, lo.Hi), hi.Hi)}
}

// RangeFirst is the rule of operators that move or choose elements of input 0, or average them.
func RangeFirst(_ *Call, in func(i int) Interval) Interval {
	if in == nil {
		return Anywhere
	}
	return in(0)
}

// RangeOf is the rule of operators whose results are in an interval whatever they read.
func RangeOf(lo, hi float64) func(*Call, func(int) Interval) Interval {
	return func(*Call, func(int) Interval) Interval { return Interval{lo, hi} }
}

// RangeHull is the rule of operators that choose among elements of all inputs.
func RangeHull(c *Call, in func(i int) Interval) Interval {
	if c == nil || in == nil {
		return Anywhere
	}
	r := in(0)
	for i := 1; i < len(c.In); i++ {
		r = r.Hull(in(i))
	}
	return r
}

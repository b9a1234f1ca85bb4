package op

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

package trait

import "math"

// Interval is a closed interval that contains all elements of a value.
type Interval struct{ Lo, Hi float64 }

// Anywhere returns the interval of all numbers.
func Anywhere() Interval { return Interval{math.Inf(-1), math.Inf(1)} }

// Hull returns the smallest interval that contains r and s.
func (r Interval) Hull(s Interval) Interval {
	return Interval{math.Min(r.Lo, s.Lo), math.Max(r.Hi, s.Hi)}
}

// Clamped returns the interval of min(max(x, lo), hi) for x in r and bounds in the intervals lo and hi.
func (r Interval) Clamped(lo, hi Interval) Interval {
	return Interval{math.Min(math.Max(r.Lo, lo.Lo), hi.Lo), math.Min(math.Max(r.Hi, lo.Hi), hi.Hi)}
}

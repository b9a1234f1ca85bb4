package trait

import "math"

// Interval is where the elements of a value are, ends included.
type Interval struct{ Lo, Hi float64 }

// Anywhere is the interval of all numbers.
func Anywhere() Interval { return Interval{math.Inf(-1), math.Inf(1)} }

// Hull is the smallest interval that holds r and s.
func (r Interval) Hull(s Interval) Interval {
	return Interval{math.Min(r.Lo, s.Lo), math.Max(r.Hi, s.Hi)}
}

// Clamped is where min(max(x, lo), hi) is for x in r, lo and hi in intervals.
func (r Interval) Clamped(lo, hi Interval) Interval {
	return Interval{math.Min(math.Max(r.Lo, lo.Lo), hi.Lo), math.Min(math.Max(r.Hi, lo.Hi), hi.Hi)}
}

package train

import (
	"math"
	"slices"
)

// solve minimizes the objective, starting from w, or from zeros if w is nil.
func (p problem) solve(w []float64) []float64 {
	if w == nil {
		w = make([]float64, p.classes*(len(p.x[0])+1))
	}
	return minimize(p.objective(), w)
}

// minimize finds a minimum of f from w, by L-BFGS (Nocedal, 1980) with ten pairs and a backtracking line search. f returns its value
// and writes its gradient at w to g.
func minimize(f func(w, g []float64) float64, w []float64) []float64 {
	const pairs, steps = 10, 100
	size := len(w)
	w = slices.Clone(w)
	g, next, after := make([]float64, size), make([]float64, size), make([]float64, size)
	least := f(w, g)
	var s, y [][]float64
	ds, dy := make([]float64, size), make([]float64, size)
	for range steps {
		dir := twoLoop(g, s, y)
		slope := dot(dir, g)
		if slope >= 0 || norm(g) < 1e-5*max(1, norm(w)) {
			break
		}
		t, moved := 1.0, false
		if len(s) == 0 {
			t = min(1, 1/norm(g))
		}
		var value float64
		for range 30 {
			for i := range w {
				next[i] = w[i] + t*dir[i]
			}
			if value = f(next, after); value <= least+1e-4*t*slope {
				moved = true
				break
			}
			t /= 2
		}
		if !moved {
			break
		}
		for i := range w {
			ds[i], dy[i] = next[i]-w[i], after[i]-g[i]
		}
		if dot(ds, dy) > 1e-12 {
			s, ds = remember(s, ds, pairs)
			y, dy = remember(y, dy, pairs)
		}
		done := least-value < 1e-7*max(1e-3, least)
		copy(w, next)
		copy(g, after)
		least = value
		if done {
			break
		}
	}
	return w
}

// remember appends v to a list of at most so many vectors, and returns the list and a vector for the next one: the oldest, or a new one.
func remember(list [][]float64, v []float64, most int) (to [][]float64, free []float64) {
	if len(list) < most {
		return append(list, v), make([]float64, len(v))
	}
	oldest := list[0]
	copy(list, list[1:])
	list[most-1] = v
	return list, oldest
}

// twoLoop returns the direction −H·g of L-BFGS.
func twoLoop(g []float64, s, y [][]float64) []float64 {
	q := slices.Clone(g)
	alpha := make([]float64, len(s))
	for i := len(s) - 1; i >= 0; i-- {
		alpha[i] = dot(s[i], q) / dot(s[i], y[i])
		for k := range q {
			q[k] -= alpha[i] * y[i][k]
		}
	}
	if n := len(s); n > 0 {
		scale := dot(s[n-1], y[n-1]) / dot(y[n-1], y[n-1])
		for k := range q {
			q[k] *= scale
		}
	}
	for i := range s {
		beta := dot(y[i], q) / dot(s[i], y[i])
		for k := range q {
			q[k] += (alpha[i] - beta) * s[i][k]
		}
	}
	for k := range q {
		q[k] = -q[k]
	}
	return q
}

func dot(a, b []float64) float64 {
	s := 0.0
	for i, x := range a {
		s += x * b[i]
	}
	return s
}

func norm(a []float64) float64 { return math.Sqrt(dot(a, a)) }

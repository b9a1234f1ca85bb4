package train

import (
	"math"
	"slices"
	"testing"
)

// TestMinimizeLooks checks the points of a line search, computed by hand: the first step is no longer
// than 1 or the gradient, the second reaches the minimum of a parabola; a step is halved until the
// decrease is a ten-thousandth of that predicted by the slope, at most thirty times; the search ends
// after a hundred iterations, at a small gradient and at a small decrease.
func TestMinimizeLooks(t *testing.T) {
	type function func(w float64) (value, slope float64)
	parabola := func(at float64) function {
		return func(w float64) (float64, float64) { return (w - at) * (w - at) / 2, w - at }
	}
	line := func(height, slope float64) function {
		return func(w float64) (float64, float64) { return height + slope*w, slope }
	}
	for name, c := range map[string]struct {
		f     function
		from  float64
		looks []float64 // at the start
		count int       // of all
		end   float64
	}{
		"far": {parabola(4), 0, []float64{0, 1, 4}, 3, 4}, "near": {parabola(0.5), 0, []float64{0, 0.5}, 2, 0.5}, "one off": {parabola(1), 0, []float64{0, 1}, 2, 1}, "back": {parabola(-4), 0, []float64{0, -1, -4}, 3, -4},
		"a line": {line(-100, -1), 0, []float64{0, 1, 2, 3}, 101, 100}, "a steep line": {line(-100, -4), 0, []float64{0, 1, 2, 3}, 101, 100},
		"uphill all the same": {func(w float64) (float64, float64) { return math.Abs(w), -1 }, 0, []float64{0, 1, 0.5, 0.25}, 31, 0},
		// At 1 a gain of 2e-4 is wanted, at 0.5 half of it; from there nothing gains.
		"little gained": {func(w float64) (float64, float64) { return -map[float64]float64{1: 1.9e-4, 0.5: 1.1e-4}[w], -2 }, 0, []float64{0, 1, 0.5, 1.5, 1}, 33, 0.5},
		"flat":          {line(0, 0.9e-5), 0, []float64{0}, 1, 0}, "hardly flat": {line(-100, -1.1e-5), 0, []float64{0, 1.1e-5}, 101, 1.1e-3},
		"flat for such weights": {line(0, 9e-5), 10, []float64{10}, 1, 10}, "not flat for such": {line(0, 1.1e-4), 10, []float64{10, 10 - 1.1e-4}, 101, 10 - 1.1e-2},
		"gains too little for such a loss": {line(1e7, -0.9), 0, []float64{0, 0.9}, 2, 0.9}, "gains enough": {line(1e7, -1.1), 0, []float64{0, 1}, 101, 100},
	} {
		var looks []float64
		end := minimize(func(w, g []float64) (v float64) {
			looks = append(looks, w[0])
			v, g[0] = c.f(w[0])
			return v
		}, []float64{c.from})
		near := func(a, b float64) bool { return math.Abs(a-b) < 1e-9 }
		if len(looks) != c.count || !slices.EqualFunc(looks[:min(len(looks), len(c.looks))], c.looks, near) || !near(end[0], c.end) {
			t.Errorf("%s: %d looks, first at %v, end at %v; want %d, %v, %v", name, len(looks), looks[:min(len(looks), 5)], end, c.count, c.looks, c.end)
		}
	}
}

// TestRemember: the last vectors are kept, in order, and the oldest one is used again.
func TestRemember(t *testing.T) {
	for _, most := range []int{1, 2, 3} {
		var list [][]float64
		v := make([]float64, 1)
		for i := range 5 {
			v[0] = float64(i)
			oldest := v
			if len(list) == most {
				oldest = list[0]
			}
			if list, v = remember(list, v, most); len(list) != min(i+1, most) || (i >= most) != (&v[0] == &oldest[0]) {
				t.Errorf("%d of %d: %v, next %v", i, most, list, v)
			}
			for k, x := range list {
				if x[0] != float64(i-len(list)+1+k) {
					t.Errorf("%d of %d: %v", i, most, list)
				}
			}
		}
	}
}

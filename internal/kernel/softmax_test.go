package kernel

import (
	"fmt"
	"math"
	"testing"
)

// TestSoftmaxRow compares rows in float32 with those in float64, with what a mask hides, and with numbers
// that leave nothing to compare.
func TestSoftmaxRow(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	for _, n := range lengths {
		if n == 0 {
			continue
		}
		x, dy, mask := random[float64](n, 1), random[float64](n, 2), random[float64](n, 3)
		hidden, first := append([]float64(nil), mask...), append([]float64(nil), mask...)
		for i := n / 2; i < n; i++ {
			hidden[i] = -inf
		}
		first[0] = nan
		for name, m := range map[string][]float64{"plain": nil, "mask": mask, "hidden": hidden, "NaN": first} {
			const scale = 0.7
			y, dx := make([]float64, n), make([]float64, n)
			softmaxScaledRow(y, x, m, scale)
			softmaxRowGrad(dx, dy, y, scale)
			got := make([]float32, n)
			var m32 []float32
			if m != nil {
				m32 = narrow(m)
			}
			softmaxScaledRow(got, narrow(x), m32, scale)
			what := fmt.Sprint(name, " ", n)
			near(t, what, wide(got), y, 1e-6)
			softmaxRowGrad(got, narrow(dy), got, scale)
			near(t, what+" gradient, over y", wide(got), dx, 1e-6)
		}
		for _, v := range []float64{inf, nan} {
			y := narrow(x)
			y[n-1] = float32(v)
			softmaxRow(y, y)
			if y[0] == y[0] || y[n-1] == y[n-1] {
				t.Errorf("%d numbers with %v among them: %v and %v", n, v, y[0], y[n-1])
			}
		}
	}
}

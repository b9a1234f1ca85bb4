package softmax

import (
	"fmt"
	"math"
	"testing"

	"github.com/graft-ml/graft/internal/kernel"
	"github.com/graft-ml/graft/internal/kernel/kerneltest"
)

// TestSoftmaxRow compares rows in float32 with those in float64, with what a mask hides, and with numbers
// that leave nothing to compare.
func TestSoftmaxRow(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	for _, n := range kerneltest.Lengths {
		if n == 0 {
			continue
		}
		x, dy, mask := kerneltest.Random[float64](n, 1), kerneltest.Random[float64](n, 2), kerneltest.Random[float64](n, 3)
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
				m32 = kerneltest.Narrow(m)
			}
			softmaxScaledRow(got, kerneltest.Narrow(x), m32, scale)
			what := fmt.Sprint(name, " ", n)
			kerneltest.Near(t, what, kerneltest.Wide(got), y, 1e-6)
			softmaxRowGrad(got, kerneltest.Narrow(dy), got, scale)
			kerneltest.Near(t, what+" gradient, over y", kerneltest.Wide(got), dx, 1e-6)
		}
		for _, v := range []float64{inf, nan} {
			y := kerneltest.Narrow(x)
			y[n-1] = float32(v)
			softmaxRow(y, y)
			if y[0] == y[0] || y[n-1] == y[n-1] {
				t.Errorf("%d numbers with %v among them: %v and %v", n, v, y[0], y[n-1])
			}
		}
	}
}

func softmaxReference[T kernel.Float](outer, axis, inner int, x []T, logarithm bool) []T {
	y := make([]T, len(x))
	for o := range outer {
		for i := range inner {
			at := func(q int) int { return (o*axis+q)*inner + i }
			m, s := math.Inf(-1), 0.0
			for q := range axis {
				m = max(m, float64(x[at(q)]))
			}
			for q := range axis {
				s += math.Exp(float64(x[at(q)]) - m)
			}
			for q := range axis {
				if v := float64(x[at(q)]) - m; logarithm {
					y[at(q)] = T(v - math.Log(s))
				} else {
					y[at(q)] = T(math.Exp(v) / s)
				}
			}
		}
	}
	return y
}

var lanesShapes = [][3]int{{1, 1, 1}, {3, 10, 1}, {4, 1000, 1}, {2, 5, 3}, {300, 7, 33}, {2, 6, 530}, {0, 3, 2}}

func testSoftmax[T kernel.Float](t *testing.T, tol float64) {
	for name, p := range kerneltest.Pools(t) {
		for _, s := range lanesShapes {
			x := kerneltest.Random[T](s[0]*s[1]*s[2], 1)
			for i := range x {
				x[i] *= 20
			}
			got := make([]T, len(x))
			Softmax(p, s[0], s[1], s[2], got, x)
			kerneltest.Near(t, fmt.Sprint(name, s), got, softmaxReference(s[0], s[1], s[2], x, false), tol)
			LogSoftmax(p, s[0], s[1], s[2], got, x)
			kerneltest.Near(t, fmt.Sprint(name, s, " log"), got, softmaxReference(s[0], s[1], s[2], x, true), tol)
		}
	}
	inf := T(math.Inf(-1))
	got := make([]T, 3)
	Softmax(nil, 1, 3, 1, got, []T{inf, 0, inf})
	kerneltest.Near(t, "masked", got, []T{0, 1, 0}, 0)
	Softmax(nil, 1, 3, 1, got, []T{0, T(math.NaN()), 1})
	kerneltest.Near(t, "NaN", got, []T{T(math.NaN()), T(math.NaN()), T(math.NaN())}, 0)
}

func TestSoftmax(t *testing.T) {
	t.Run("float32", func(t *testing.T) { testSoftmax[float32](t, 2e-6) })
	t.Run("float64", func(t *testing.T) { testSoftmax[float64](t, 1e-13) })
}

func TestSoftmaxGrad(t *testing.T) {
	for _, s := range lanesShapes {
		n := s[0] * s[1] * s[2]
		x, dy, y, dx := kerneltest.Random[float64](n, 1), kerneltest.Random[float64](n, 2), make([]float64, n), make([]float64, n)
		Softmax(nil, s[0], s[1], s[2], y, x)
		SoftmaxGrad(nil, s[0], s[1], s[2], dx, dy, y)
		kerneltest.Slope(t, fmt.Sprint("softmax", s), x, dx, func() float64 { Softmax(nil, s[0], s[1], s[2], y, x); return kerneltest.Weighted(y, dy) })
		LogSoftmax(nil, s[0], s[1], s[2], y, x)
		LogSoftmaxGrad(nil, s[0], s[1], s[2], dx, dy, y)
		kerneltest.Slope(t, fmt.Sprint("log", s), x, dx, func() float64 { LogSoftmax(nil, s[0], s[1], s[2], y, x); return kerneltest.Weighted(y, dy) })
	}
}

// TestSoftmaxNarrow runs the same tests with the assembly for older processors.
func TestSoftmaxNarrow(t *testing.T) {
	kerneltest.Narrower(t, map[string]func(*testing.T){
		"Softmax": TestSoftmax,
	})
}

package elementwise

import (
	"fmt"
	"math"
	"testing"

	"github.com/graft-ml/graft/internal/kernel"
	"github.com/graft-ml/graft/internal/kernel/kerneltest"
)

// piecewiseCases returns the functions whose gradient looks at their result, and their errors in float32.
func piecewiseCases[T kernel.Float]() []struct {
	name         string
	f            func(p *kernel.Pool, dst, x []T)
	grad         func(p *kernel.Pool, dx, dy, y []T)
	exact, slope func(x float64) float64
	ulps         float64
} {
	type row = struct {
		name         string
		f            func(p *kernel.Pool, dst, x []T)
		grad         func(p *kernel.Pool, dx, dy, y []T)
		exact, slope func(x float64) float64
		ulps         float64
	}
	elu := func(name string, e Exponential[T]) row {
		alpha, gamma, inner := float64(e.Alpha), float64(e.Gamma), float64(e.Inner)
		return row{name,
			func(p *kernel.Pool, dst, x []T) { Elu(p, e, dst, x) }, func(p *kernel.Pool, dx, dy, y []T) { EluGrad(p, e, dx, dy, y) },
			func(x float64) float64 { return gamma * (max(x, 0) + alpha*math.Expm1(inner*min(x, 0))) },
			func(x float64) float64 {
				if x > 0 {
					return gamma
				}
				return gamma * alpha * inner * math.Exp(inner*x)
			}, 3}
	}
	return []row{
		elu("elu", Exponential[T]{1, 1, 1}), elu("selu", Exponential[T]{1.67326, 1.0507, 1}), elu("celu", Exponential[T]{2, 1, 0.5}),
		{"softplus", Softplus[T], SoftplusGrad[T], func(x float64) float64 { return max(x, 0) + math.Log1p(math.Exp(-math.Abs(x))) },
			func(x float64) float64 { return 1 / (1 + math.Exp(-x)) }, 4},
		{"leaky relu", func(p *kernel.Pool, dst, x []T) { LeakyRelu(p, 0.25, dst, x) }, func(p *kernel.Pool, dx, dy, y []T) { LeakyReluGrad(p, 0.25, dx, dy, y) },
			func(x float64) float64 { return max(x, 0) + 0.25*min(x, 0) },
			func(x float64) float64 {
				if x > 0 {
					return 1
				}
				return 0.25
			}, 0},
	}
}

func TestBentErrors(t *testing.T) {
	const n = 100_001
	x, y, dx, ones := make([]float32, n), make([]float32, n), make([]float32, n), make([]float32, n)
	for i := range x {
		x[i], ones[i] = float32(-40+80*float64(i)/(n-1)), 1
		if i%3 == 0 {
			x[i] *= 1e-3
		}
	}
	for _, c := range piecewiseCases[float32]() {
		c.f(nil, y, x)
		c.grad(nil, dx, ones, y)
		worst, steepest := 0.0, 0.0
		for i, v := range x {
			worst = max(worst, ulps(y[i], c.exact(float64(v))))
			steepest = max(steepest, math.Abs(float64(dx[i])-c.slope(float64(v))))
		}
		t.Logf("%s: %.3g ulps, slope %.3g", c.name, worst, steepest)
		if !(worst <= c.ulps) || !(steepest <= 1e-6) {
			t.Errorf("%s is off by %.3g units in the last place, its slope by %.3g", c.name, worst, steepest)
		}
	}
}

func testBent[T kernel.Float](t *testing.T, tol float64) {
	for pool, p := range kerneltest.Pools(t) {
		for _, c := range piecewiseCases[T]() {
			for _, n := range kerneltest.Lengths {
				x, dy := kerneltest.Random[T](n, 4), kerneltest.Random[T](n, 5)
				if n > 8 {
					x[1], x[3], x[5], x[7] = T(math.Inf(-1)), T(math.NaN()), T(math.Inf(1)), 0
				}
				got, dx, want, slope := make([]T, n), make([]T, n), make([]T, n), make([]T, n)
				for i := range x {
					want[i], slope[i] = T(c.exact(float64(x[i]))), T(float64(dy[i])*c.slope(float64(x[i])))
				}
				what := fmt.Sprint(pool, " ", c.name, " ", n)
				c.f(p, got, x)
				kerneltest.Near(t, what, got, want, tol)
				c.grad(p, dx, dy, got)
				if n > 8 { // no number has a slope
					dx[3], slope[3] = 0, 0
				}
				kerneltest.Near(t, what+" gradient", dx, slope, tol)
				c.grad(p, dy, dy, got)
				if n > 8 {
					dy[3] = 0
				}
				kerneltest.Near(t, what+" gradient in place", dy, dx, 0)
				c.f(p, x, x)
				kerneltest.Near(t, what+" in place", x, got, 0)
			}
		}
	}
}

func TestBent(t *testing.T) {
	t.Run("float32", func(t *testing.T) { testBent[float32](t, 2e-6) })
	t.Run("float64", func(t *testing.T) { testBent[float64](t, 1e-14) })
}

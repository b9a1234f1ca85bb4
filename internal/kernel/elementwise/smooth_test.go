package elementwise

import (
	"fmt"
	"math"
	"testing"

	"github.com/graft-ml/graft/internal/kernel"
	"github.com/graft-ml/graft/internal/kernel/kerneltest"
)

// smoothFunctions are activations with a gradient, and their errors in float32.
func smoothFunctions[T kernel.Float]() []struct {
	name         string
	f            func(p *kernel.Pool, dst, x []T)
	grad         func(p *kernel.Pool, dx, dy, x []T)
	exact, slope func(x float64) float64
	ulps         float64 // 0: the error is
	within       float64 // of the larger of 1 and |x|
	slopeWithin  float64
} {
	type row = struct {
		name         string
		f            func(p *kernel.Pool, dst, x []T)
		grad         func(p *kernel.Pool, dx, dy, x []T)
		exact, slope func(x float64) float64
		ulps         float64
		within       float64
		slopeWithin  float64
	}
	logistic := func(x float64) float64 { return 1 / (1 + math.Exp(-x)) }
	clip := func(x float64) float64 { return max(0, min(1, x)) }
	cube := func(x float64) float64 { return math.Sqrt(2/math.Pi) * (x + 0.044715*x*x*x) }
	softTanh := func(x float64) float64 { return math.Tanh(math.Log1p(math.Exp(x))) }
	return []row{
		{"gelu", Gelu[T], GeluGrad[T],
			func(x float64) float64 { return x * math.Erfc(-x/math.Sqrt2) / 2 },
			func(x float64) float64 {
				return math.Erfc(-x/math.Sqrt2)/2 + x*math.Exp(-x*x/2)/math.Sqrt(2*math.Pi)
			}, 0, 4e-7, 1e-6},
		{"gelu by tanh", GeluTanh[T], GeluTanhGrad[T],
			func(x float64) float64 { return x * logistic(2*cube(x)) },
			func(x float64) float64 {
				s := logistic(2 * cube(x))
				return s + x*s*(1-s)*2*math.Sqrt(2/math.Pi)*(1+3*0.044715*x*x)
			}, 0, 4e-7, 4e-6},
		{"swish", func(p *kernel.Pool, dst, x []T) { Swish(p, 2, dst, x) }, func(p *kernel.Pool, dx, dy, x []T) { SwishGrad(p, 2, dx, dy, x) },
			func(x float64) float64 { return x * logistic(2*x) },
			func(x float64) float64 { s := logistic(2 * x); return s + 2*x*s*(1-s) }, 4, 0, 2e-6},
		{"mish", Mish[T], MishGrad[T],
			func(x float64) float64 { return x * softTanh(x) },
			func(x float64) float64 { t := softTanh(x); return t + x*logistic(x)*(1-t*t) }, 6, 0, 4e-6},
		{"hard swish", HardSwish[T], HardSwishGrad[T],
			func(x float64) float64 { return x * clip(x/6+0.5) },
			func(x float64) float64 {
				if x <= -3 || x >= 3 {
					return clip(x)
				}
				return x/3 + 0.5
			}, 0, 2e-7, 2e-7},
	}
}

func TestSmoothErrors(t *testing.T) {
	const n = 100_001
	x, y, ones := make([]float32, n), make([]float32, n), make([]float32, n)
	for i := range x {
		x[i], ones[i] = float32(-40+80*float64(i)/(n-1)), 1
	}
	for _, c := range smoothFunctions[float32]() {
		c.f(nil, y, x)
		worst, at := 0.0, 0
		for i, v := range x {
			want := c.exact(float64(v))
			off := math.Abs(float64(y[i])-want) / max(1, math.Abs(float64(v)))
			if c.ulps > 0 {
				off = ulps(y[i], want)
			}
			if !(off <= worst) {
				worst, at = off, i
			}
		}
		t.Logf("%s: %.3g at %v", c.name, worst, x[at])
		if !(worst <= c.ulps+c.within) {
			t.Errorf("%s(%v) = %v, want %v: off by %.3g", c.name, x[at], y[at], c.exact(float64(x[at])), worst)
		}
		c.grad(nil, y, ones, x)
		worst = 0
		for i, v := range x {
			if off := math.Abs(float64(y[i]) - c.slope(float64(v))); !(off <= worst) {
				worst, at = off, i
			}
		}
		t.Logf("slope of %s: %.3g at %v", c.name, worst, x[at])
		if !(worst <= c.slopeWithin) {
			t.Errorf("the slope of %s at %v is %v, want %v", c.name, x[at], y[at], c.slope(float64(x[at])))
		}
	}
}

func testSmooth[T kernel.Float](t *testing.T, tol float64) {
	for pool, p := range kerneltest.Pools(t) {
		for _, c := range smoothFunctions[T]() {
			for _, n := range kerneltest.Lengths {
				x, dy := kerneltest.Random[T](n, 4), kerneltest.Random[T](n, 5)
				if n > 8 {
					x[3], x[5], x[7] = T(math.NaN()), T(math.Inf(1)), 0
				}
				got, want, slope := make([]T, n), make([]T, n), make([]T, n)
				for i := range x {
					want[i], slope[i] = T(c.exact(float64(x[i]))), T(float64(dy[i])*c.slope(float64(x[i])))
				}
				what := fmt.Sprint(pool, " ", c.name, " ", n)
				c.f(p, got, x)
				kerneltest.Near(t, what, got, want, tol)
				c.grad(p, got, dy, x)
				if n > 8 { // infinity times 0, or its limit
					got[5], slope[5] = 0, 0
				}
				kerneltest.Near(t, what+" gradient", got, slope, tol)
				c.grad(p, dy, dy, x)
				if n > 8 {
					dy[5] = 0
				}
				kerneltest.Near(t, what+" gradient in place", dy, got, 0)
				c.f(p, got, x)
				c.f(p, x, x)
				kerneltest.Near(t, what+" in place", x, got, 0)
			}
		}
	}
}

func TestSmooth(t *testing.T) {
	t.Run("float32", func(t *testing.T) { testSmooth[float32](t, 2e-6) })
	t.Run("float64", func(t *testing.T) { testSmooth[float64](t, 1e-14) })
}

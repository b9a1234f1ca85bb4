package elementwise

import (
	"fmt"
	"math"
	"testing"

	"github.com/graft-ml/graft/internal/kernel"
	"github.com/graft-ml/graft/internal/kernel/kerneltest"
)

// roundings are functions whose results are exact, and the waves with their error in float32.
func roundings[T kernel.Float]() []struct {
	name   string
	f      func(p *kernel.Pool, dst, x []T)
	exact  func(x float64) float64
	within float64
} {
	return []struct {
		name   string
		f      func(p *kernel.Pool, dst, x []T)
		exact  func(x float64) float64
		within float64
	}{
		{"abs", Abs[T], math.Abs, 0}, {"floor", Floor[T], math.Floor, 0}, {"ceil", Ceil[T], math.Ceil, 0},
		{"round", Round[T], math.RoundToEven, 0}, {"sign", Sign[T], sign, 0},
		{"sin", Sin[T], math.Sin, 1e-7}, {"cos", Cos[T], math.Cos, 1e-7},
	}
}

func testRoundings[T kernel.Float](t *testing.T) {
	for pool, p := range kerneltest.Pools(t) {
		for _, c := range roundings[T]() {
			for _, size := range []T{2, 700, 3e5} {
				for _, n := range kerneltest.Lengths {
					x := kerneltest.Random[T](n, 4)
					for i := range x {
						x[i] *= size
					}
					if n > 8 {
						x[1], x[3], x[5], x[7], x[8] = T(math.Inf(-1)), T(math.NaN()), T(math.Inf(1)), 0, 2.5
					}
					got, want := make([]T, n), make([]T, n)
					for i, v := range x {
						want[i] = T(c.exact(float64(v)))
					}
					what := fmt.Sprint(pool, " ", c.name, " ", n)
					c.f(p, got, x)
					kerneltest.Near(t, what, got, want, c.within)
					c.f(p, x, x)
					kerneltest.Near(t, what+" in place", x, got, 0)
				}
			}
		}
	}
}

func TestRoundings(t *testing.T) {
	t.Run("float32", testRoundings[float32])
	t.Run("float64", testRoundings[float64])
}

func TestWaveErrors(t *testing.T) {
	const n = 200_001
	x, s, c := make([]float32, n), make([]float32, n), make([]float32, n)
	for i := range x {
		x[i] = float32(-200 + 400*float64(i)/(n-1)) // the sum of a block stays small
	}
	Sin(nil, s, x)
	Cos(nil, c, x)
	worst := [2]float64{}
	for i, v := range x {
		worst[0] = max(worst[0], math.Abs(float64(s[i])-math.Sin(float64(v))))
		worst[1] = max(worst[1], math.Abs(float64(c[i])-math.Cos(float64(v))))
	}
	t.Logf("sin %.3g, cos %.3g", worst[0], worst[1])
	if !(worst[0] <= 1e-7 && worst[1] <= 1e-7) {
		t.Errorf("sin is off by %.3g, cos by %.3g", worst[0], worst[1])
	}
}

func TestEqualMask(t *testing.T) {
	for _, n := range kerneltest.Lengths {
		a, b := kerneltest.Random[float32](n, 1), kerneltest.Random[float32](n, 2)
		want, got := make([]float32, n), make([]float32, n)
		for i := range a {
			switch i % 5 {
			case 0, 3:
				b[i], want[i] = a[i], 1
			case 1:
				a[i], b[i] = float32(math.NaN()), float32(math.NaN())
			}
		}
		EqualMask(got, a, b)
		kerneltest.Near(t, fmt.Sprint(n), got, want, 0)
	}
}

package elementwise

import (
	"math"
	"testing"

	"github.com/graft-ml/graft/internal/kernel/kerneltest"
)

// extremes are numbers at which functions have special cases.
var extremes = []float32{0, float32(math.Copysign(0, -1)), 1, -1, 0.5, -0.5, 2, -2, 3, -3, 1.5, -2.5, 1e-42, -1e-42, 1e-30, 1e30, -1e30,
	1 << 24, 1<<24 + 2, 1<<23 + 1, -(1<<23 + 1), math.MaxFloat32, -math.MaxFloat32, math.SmallestNonzeroFloat32, 1.0000001, 0.99999994,
	float32(math.Inf(1)), float32(math.Inf(-1)), float32(math.NaN())}

// pairsOfFloats returns all pairs of extremes, and many of other numbers.
func pairsOfFloats(n int) (a, b []float32) {
	for _, x := range extremes {
		for _, y := range extremes {
			a, b = append(a, x), append(b, y)
		}
	}
	x, y := kerneltest.Random[float32](n, 1), kerneltest.Random[float32](n, 2)
	for i := range x {
		switch i % 4 {
		case 0:
			x[i] = float32(math.Exp(40 * float64(x[i])))
			y[i] *= 3
		case 1:
			x[i] = 1 + x[i]/100
			y[i] *= 5000
		case 2:
			y[i] = float32(math.Round(float64(y[i] * 9)))
			x[i] *= 30
		}
	}
	return append(a, x...), append(b, y...)
}

func TestPow(t *testing.T) {
	a, b := pairsOfFloats(200_000)
	got := make([]float32, len(a))
	Pow(nil, got, a, b)
	worst, at := 0.0, 0
	for i := range a {
		if u := ulps(got[i], math.Pow(float64(a[i]), float64(b[i]))); u > worst {
			worst, at = u, i
		}
	}
	t.Logf("%.3f ulp at %v^%v", worst, a[at], b[at])
	if !(worst <= 1) {
		t.Errorf("%v^%v = %v, want %v", a[at], b[at], got[at], math.Pow(float64(a[at]), float64(b[at])))
	}
	for _, s := range append([]float32{0.25, -0.75, 3.5, 0.1, 7}, extremes...) {
		want := make([]float32, len(a))
		for i, v := range a {
			want[i] = float32(math.Pow(float64(v), float64(s)))
		}
		PowScalar(nil, got, a, s)
		kerneltest.Near(t, "scalar", got, want, 1e-6)
	}
	for _, n := range kerneltest.Lengths {
		x, y, d := a[:min(n, len(a))], b[:min(n, len(a))], got[:min(n, len(a))]
		Pow(nil, d, x, y)
		c := append([]float32(nil), y...)
		Pow(nil, c, x, c)
		kerneltest.Near(t, "in place", c, d, 0)
	}
}

func TestFmod(t *testing.T) {
	a, b := pairsOfFloats(200_000)
	got, want := make([]float32, len(a)), make([]float32, len(a))
	Fmod(nil, got, a, b)
	for i := range a {
		want[i] = float32(math.Mod(float64(a[i]), float64(b[i])))
	}
	kerneltest.Near(t, "vectors", got, want, 0)
	for _, s := range append([]float32{0.7, -0.1, 1e-3}, extremes...) {
		FmodScalar(nil, got, a, s)
		for i := range a {
			want[i] = float32(math.Mod(float64(a[i]), float64(s)))
		}
		kerneltest.Near(t, "scalar", got, want, 0)
	}
}

func TestPowersOfDoubles(t *testing.T) {
	a, b := kerneltest.Random[float64](1000, 1), kerneltest.Random[float64](1000, 2)
	got, want, rest := make([]float64, 1000), make([]float64, 1000), make([]float64, 1000)
	for i := range a {
		want[i], rest[i] = math.Pow(a[i], b[i]), math.Mod(a[i], b[i])
	}
	Pow(nil, got, a, b)
	kerneltest.Near(t, "pow", got, want, 1e-14)
	Fmod(nil, got, a, b)
	kerneltest.Near(t, "fmod", got, rest, 0)
}

package kerneltest

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/graft-ml/graft/internal/kernel"
)

// Lengths of slices: few vectors, their tails, and several blocks of work.
var Lengths = []int{0, 1, 3, 7, 8, 9, 15, 16, 31, 33, 70, 20000, 40003}

func Random[T kernel.Float](n int, seed uint64) []T {
	r := rand.New(rand.NewPCG(seed, 7))
	x := make([]T, n)
	for i := range x {
		x[i] = T(r.NormFloat64())
	}
	return x
}

// Near fails the test where got and want differ by more than tol, relative to the
// larger of 1 and |want|.
func Near[T kernel.Float](t *testing.T, what string, got, want []T, tol float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d elements, want %d", what, len(got), len(want))
	}
	for i := range got {
		g, w := float64(got[i]), float64(want[i])
		if g == w || math.IsNaN(g) && math.IsNaN(w) {
			continue
		}
		if d := math.Abs(g - w); !(d <= tol*math.Max(1, math.Abs(w))) {
			t.Fatalf("%s: element %d is %v, want %v", what, i, g, w)
		}
	}
}

func Pools(t testing.TB) map[string]*kernel.Pool {
	two, three := kernel.NewPool(2), kernel.NewPool(3)
	t.Cleanup(func() { two.Close(); three.Close() })
	return map[string]*kernel.Pool{"serial": nil, "two": two, "three": three}
}

func Product1(v []int) int {
	n := 1
	for _, d := range v {
		n *= d
	}
	return n
}

func Wide[T kernel.Float](x []T) []float64 {
	y := make([]float64, len(x))
	for i, v := range x {
		y[i] = float64(v)
	}
	return y
}

func Narrow(x []float64) []float32 {
	y := make([]float32, len(x))
	for i, v := range x {
		y[i] = float32(v)
	}
	return y
}

// Slope checks a gradient: the change of loss along a random direction of x, by
// central differences, against the scalar product of grad with that direction.
func Slope(t *testing.T, what string, x, grad []float64, loss func() float64) {
	t.Helper()
	if len(x) == 0 {
		return
	}
	const eps = 1e-5
	for seed := range uint64(2) {
		dir := Random[float64](len(x), 100+seed)
		keep := append([]float64(nil), x...)
		move := func(by float64) float64 {
			for i := range x {
				x[i] = keep[i] + by*dir[i]
			}
			return loss()
		}
		want := (move(eps) - move(-eps)) / (2 * eps)
		copy(x, keep)
		got := 0.0
		for i := range dir {
			got += grad[i] * dir[i]
		}
		if d := math.Abs(got - want); !(d <= 1e-6*math.Max(1, math.Abs(want))) {
			t.Errorf("%s: slope %v, by differences %v", what, got, want)
		}
	}
}

func Weighted(y, w []float64) (s float64) {
	for i := range y {
		s += y[i] * w[i]
	}
	return s
}

// alike fails the test unless got and want are NaN at the same positions and otherwise equal up to
// tol, relative to want: subnormal numbers must not be flushed to zero.
func alike(t *testing.T, what string, got, want []float32, tol float64) {
	t.Helper()
	for i := range want {
		g, w := float64(got[i]), float64(want[i])
		if g == w || math.IsNaN(g) && math.IsNaN(w) {
			continue
		}
		if d := math.Abs(g - w); !(d <= tol*math.Abs(w)) {
			t.Fatalf("%s: element %d is %v, the portable kernel has %v", what, i, g, w)
		}
	}
}

// fenced calls f with n elements at an unaligned address, and checks that the elements around them
// are not changed.
func fenced(t *testing.T, what string, n int, f func(x []float32)) []float32 {
	t.Helper()
	const fence = 19
	all := make([]float32, n+2*fence)
	for i := range all {
		all[i] = float32(i)
	}
	x := all[fence:][:n:n]
	f(x)
	for i, v := range all {
		if (i < fence || i >= fence+n) && v != float32(i) {
			t.Fatalf("%s: element %d of %d was written", what, i-fence, n)
		}
	}
	return x
}

// Small are numbers without rounding errors in sums and products, with NaN, infinities and
// numbers below the normal ones strewn in at every step elements.
func Small(n, seed, step int) []float32 {
	odd := []float32{float32(math.NaN()), float32(math.Inf(1)), float32(math.Inf(-1)), 1e-42, -3e-45, float32(math.Copysign(0, -1))}
	x := make([]float32, n)
	for i := range x {
		x[i] = float32((i*7+seed*5)%17 - 8)
		if step > 0 && (i+seed)%step == 0 {
			x[i] = odd[(i+seed)/step%len(odd)]
		}
	}
	return x
}

// Against runs f with the assembly and without it, on fenced results of n elements that hold
// the same numbers before.
func Against(t *testing.T, what string, n int, tol float64, f func(y []float32)) {
	t.Helper()
	begin := Small(n, 3, 0)
	run := func(y []float32) { copy(y, begin); f(y) }
	got := fenced(t, what, n, run)
	Portably(func() { alike(t, what, got, fenced(t, what+" (portable)", n, run), tol) })
}

// Signs returns n numbers that are ±unit or 0: with few enough bits for exact sums.
func Signs(n, seed int, unit float32) []float32 {
	x := Small(n, seed, 0)
	for i, v := range x {
		x[i] = unit * max(-1, min(v, 1))
	}
	return x
}

// Poison fills the buffers that kernels borrow with values that must not appear in any result.
func Poison[T kernel.Float]() {
	var all []*[]T
	for range 4 {
		b := kernel.Borrow[T](1 << 17)
		for i := range *b {
			(*b)[i] = T(math.NaN())
		}
		all = append(all, b)
	}
	for _, b := range all {
		kernel.GiveBack(b)
	}
}

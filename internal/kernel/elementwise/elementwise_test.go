package elementwise

import (
	"fmt"
	"math"
	"testing"

	"github.com/graft-ml/graft/internal/kernel"
	"github.com/graft-ml/graft/internal/kernel/kerneltest"
)

// special replaces some elements by values where functions go wrong.
func special[T kernel.Float](x []T) []T {
	for i, v := range []float64{math.NaN(), math.Inf(1), math.Inf(-1), 0, math.Copysign(0, -1), 1e-42, 3e38, -3e38} {
		if j := 3*i + 1; j < len(x) {
			x[j] = T(v)
		}
	}
	return x
}

func testBinary[T kernel.Float](t *testing.T) {
	ops := map[BinaryOp]func(a, b float64) float64{
		OpAdd:  func(a, b float64) float64 { return a + b },
		OpSub:  func(a, b float64) float64 { return a - b },
		OpMul:  func(a, b float64) float64 { return a * b },
		OpDiv:  func(a, b float64) float64 { return a / b },
		OpMax:  func(a, b float64) float64 { return max(a, b) },
		OpMin:  func(a, b float64) float64 { return min(a, b) },
		OpRSub: func(a, b float64) float64 { return b - a },
		OpRDiv: func(a, b float64) float64 { return b / a },
	}
	for name, p := range kerneltest.Pools(t) {
		for op, f := range ops {
			for _, n := range kerneltest.Lengths {
				a, b := special(kerneltest.Random[T](n, 1)), special(kerneltest.Random[T](n+1, 2)[1:])
				got, want := make([]T, n), make([]T, n)
				what := fmt.Sprint(name, " op ", op, " n ", n)
				for i := range want {
					want[i] = T(f(float64(a[i]), float64(b[i])))
				}
				Binary(p, op, got, a, b)
				kerneltest.Near(t, what, got, want, 1e-7)
				for _, s := range []T{1.5, T(math.NaN()), 0} {
					for i := range want {
						want[i] = T(f(float64(a[i]), float64(s)))
					}
					BinaryScalar(p, op, got, a, s)
					kerneltest.Near(t, what+" scalar", got, want, 1e-7)
				}
			}
			const rows, cols = 13, 1700
			a, r, c := kerneltest.Random[T](rows*cols, 1), kerneltest.Random[T](cols, 2), kerneltest.Random[T](rows, 3)
			got, want := make([]T, len(a)), make([]T, len(a))
			for i := range want {
				want[i] = T(f(float64(a[i]), float64(r[i%cols])))
			}
			BinaryRow(p, op, rows, cols, got, a, r)
			kerneltest.Near(t, "row", got, want, 1e-7)
			for i := range want {
				want[i] = T(f(float64(a[i]), float64(c[i/cols])))
			}
			BinaryCol(p, op, rows, cols, got, a, c)
			kerneltest.Near(t, "column", got, want, 1e-7)
		}
	}
}

func TestBinary(t *testing.T) {
	t.Run("float32", testBinary[float32])
	t.Run("float64", testBinary[float64])
}

// ulps returns the distance of got from the exact want in units of want's last place.
func ulps(got float32, want float64) float64 {
	w := float32(want)
	if got == w || got != got && w != w {
		return 0
	}
	if math.IsInf(float64(w), 0) || math.IsInf(float64(got), 0) || w != w || got != got {
		return math.Inf(1)
	}
	ulp := math.Max(math.Abs(float64(math.Nextafter32(w, float32(math.Inf(1)))-w)), math.SmallestNonzeroFloat32)
	return math.Abs(float64(got)-want) / ulp
}

func TestFunctionsFloat32(t *testing.T) {
	cases := []struct {
		name   string
		f      func(p *kernel.Pool, dst, x []float32)
		exact  func(float64) float64
		lo, hi float64
		ulps   float64
	}{
		{"exp", Exp[float32], math.Exp, -104, 89, 2},
		{"tanh", Tanh[float32], math.Tanh, -12, 12, 3},
		{"sigmoid", Sigmoid[float32], func(x float64) float64 { return 1 / (1 + math.Exp(-x)) }, -87, 40, 4},
		{"erf", Erf[float32], math.Erf, -5, 5, 3},
		{"log", Log[float32], math.Log, 0, 10, 2},
		{"sqrt", Sqrt[float32], math.Sqrt, 0, 1e6, 0.5001},
		{"atan", Atan[float32], math.Atan, -20, 20, 3},
	}
	for _, c := range cases {
		const n = 200_001
		x := make([]float32, n)
		for i := range x {
			x[i] = float32(c.lo + (c.hi-c.lo)*float64(i)/(n-1))
		}
		edges := []float32{0, float32(math.Inf(1)), float32(math.Inf(-1)), float32(math.NaN()), 1e-42, -1e-42, 1e-30, -1e-30, 1, -1, 3e38, -3e38, 0.625, -0.625, 1.17549435e-38, 88.72, 88.73}
		x = append(x, edges...)
		y := make([]float32, len(x))
		c.f(nil, y, x)
		worst, at := 0.0, 0
		for i, v := range x {
			want := c.exact(float64(v))
			if c.name == "sigmoid" && math.Abs(want) < 1.2e-38 && y[i] >= 0 && y[i] < 1.2e-38 {
				continue // below the normal numbers
			}
			if u := ulps(y[i], want); u > worst || math.IsNaN(u) {
				worst, at = u, i
			}
		}
		t.Logf("%s: %.2f ulp at %v", c.name, worst, x[at])
		if !(worst <= c.ulps) {
			t.Errorf("%s(%v) = %v, want %v: off by %.2f ulp", c.name, x[at], y[at], c.exact(float64(x[at])), worst)
		}
	}
}

// TestOddFunctionsOfNegativeZero checks that odd functions of −0 are −0, with and without assembly.
func TestOddFunctionsOfNegativeZero(t *testing.T) {
	minus := float32(math.Copysign(0, -1))
	for name, f := range map[string]func(*kernel.Pool, []float32, []float32){"Tanh": Tanh[float32], "Erf": Erf[float32]} {
		for _, n := range []int{1, 37} {
			x, y := make([]float32, n), make([]float32, n)
			for i := range x {
				x[i] = minus
			}
			f(nil, y, x)
			for i := range y {
				if y[i] != 0 || !math.Signbit(float64(y[i])) {
					t.Fatalf("%s: element %d of %d is %v", name, i, n, y[i])
				}
			}
		}
	}
}

// A value must not depend on where in a slice it is.
func TestFunctionsDoNotDependOnPosition(t *testing.T) {
	for name, f := range map[string]func(p *kernel.Pool, dst, x []float32){"exp": Exp[float32], "tanh": Tanh[float32], "erf": Erf[float32], "log": Log[float32]} {
		x := kerneltest.Random[float32](37, 9)
		all, one := make([]float32, len(x)), make([]float32, 1)
		f(nil, all, x)
		for i := range x {
			f(nil, one, x[i:][:1])
			if one[0] != all[i] && (one[0] == one[0] || all[i] == all[i]) {
				t.Errorf("%s(%v) is %v alone and %v among others", name, x[i], one[0], all[i])
			}
		}
	}
}

func testUnary[T kernel.Float](t *testing.T, tol float64) {
	cases := map[string]struct {
		f     func(p *kernel.Pool, dst, x []T)
		exact func(float64) float64
	}{
		"relu": {Relu[T], func(x float64) float64 {
			if x < 0 {
				return 0
			}
			return x
		}},
		"exp": {Exp[T], math.Exp}, "tanh": {Tanh[T], math.Tanh}, "erf": {Erf[T], math.Erf},
		"log": {Log[T], math.Log}, "sqrt": {Sqrt[T], math.Sqrt},
		"sigmoid": {Sigmoid[T], func(x float64) float64 { return 1 / (1 + math.Exp(-x)) }},
	}
	for pool, p := range kerneltest.Pools(t) {
		for name, c := range cases {
			for _, n := range kerneltest.Lengths {
				x := special(kerneltest.Random[T](n, 4))
				got, want := make([]T, n), make([]T, n)
				for i := range x {
					want[i] = T(c.exact(float64(x[i])))
				}
				c.f(p, got, x)
				kerneltest.Near(t, fmt.Sprint(pool, " ", name, " ", n), got, want, tol)
				c.f(p, x, x)
				kerneltest.Near(t, name+" in place", x, got, 0)
			}
		}
	}
}

func TestUnary(t *testing.T) {
	t.Run("float32", func(t *testing.T) { testUnary[float32](t, 1e-6) })
	t.Run("float64", func(t *testing.T) { testUnary[float64](t, 1e-14) })
}

func testUnaryGrad[T kernel.Float](t *testing.T, tol float64) {
	for _, n := range kerneltest.Lengths {
		dy, y := kerneltest.Random[T](n, 1), special(kerneltest.Random[T](n, 2))
		got, want := make([]T, n), make([]T, n)
		for name, c := range map[string]struct {
			f     func(p *kernel.Pool, dx, dy, y []T)
			exact func(dy, y T) T
		}{
			"relu": {ReluGrad[T], func(dy, y T) T {
				if y > 0 {
					return dy
				}
				return 0
			}},
			"sigmoid": {SigmoidGrad[T], func(dy, y T) T { return dy * y * (1 - y) }},
			"tanh":    {TanhGrad[T], func(dy, y T) T { return dy * (1 - y*y) }},
		} {
			for i := range want {
				want[i] = c.exact(dy[i], y[i])
			}
			c.f(nil, got, dy, y)
			for i := range got { // Inf - Inf may come out as Inf with a fused multiply-add
				if v := float64(want[i]); math.IsNaN(v) || math.IsInf(v, 0) {
					got[i], want[i] = 0, 0
				}
			}
			kerneltest.Near(t, name, got, want, tol)
		}
	}
}

func TestUnaryGrad(t *testing.T) {
	t.Run("float32", func(t *testing.T) { testUnaryGrad[float32](t, 1e-5) })
	t.Run("float64", func(t *testing.T) { testUnaryGrad[float64](t, 1e-14) })
}

func BenchmarkFunctions(b *testing.B) {
	x, y := kerneltest.Random[float32](4096, 1), make([]float32, 4096)
	for name, f := range map[string]func(){
		"exp": func() { Exp(nil, y, x) }, "tanh": func() { Tanh(nil, y, x) }, "erf": func() { Erf(nil, y, x) },
		"sigmoid": func() { Sigmoid(nil, y, x) }, "log": func() { Log(nil, y, x) }, "add": func() { Add(nil, y, y, x) },
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(4 * len(x)))
			for b.Loop() {
				f()
			}
		})
	}
}

func TestAssemblyElementwise(t *testing.T) {
	for n := range 71 {
		x, y := kerneltest.Small(n+1, 1, 11)[1:], kerneltest.Small(n, 2, 13)
		for op := OpAdd; op <= OpRDiv; op++ {
			kerneltest.Against(t, fmt.Sprint("Binary ", op), n, 0, func(z []float32) { Binary(nil, op, z, x, y) })
			kerneltest.Against(t, fmt.Sprint("BinaryScalar ", op), n, 0, func(z []float32) { BinaryScalar(nil, op, z, x, 1e-42) })
		}
		for what, f := range map[string]func(z []float32){
			"Relu": func(z []float32) { Relu(nil, z, x) }, "Sqrt": func(z []float32) { Sqrt(nil, z, x) },
			"ReluGrad": func(z []float32) { ReluGrad(nil, z, x, y) },
			"ClipGrad": func(z []float32) { ClipGrad(nil, z, x, y, -2, 3) },
		} {
			kerneltest.Against(t, what, n, 0, f)
		}
		for what, f := range map[string]func(p *kernel.Pool, dst, x []float32){"Exp": Exp[float32], "Tanh": Tanh[float32], "Erf": Erf[float32], "Log": Log[float32]} {
			kerneltest.Against(t, what, n, 1e-6, func(z []float32) { f(nil, z, x) })
			kerneltest.Against(t, what+" of small numbers", n, 1e-6, func(z []float32) { Scale(nil, 0.11, z, x); f(nil, z, z) })
		}
	}
}

func TestClipGrad(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	for _, n := range []int{1, 7, 8, 33, 100} {
		x, dy := kerneltest.Random[float32](n, 1), kerneltest.Random[float32](n, 2)
		x[0] = []float32{nan, inf, -inf, 0.25, -0.25}[n%5]
		lo, hi := float32(-0.25), float32(0.25)
		got := make([]float32, n)
		ClipGrad(nil, got, dy, x, lo, hi)
		for i, v := range x {
			want := dy[i]
			if v < lo || v > hi {
				want = 0
			}
			if got[i] != want {
				t.Errorf("n=%d: gradient at %v is %v, want %v", n, v, got[i], want)
			}
		}
	}
}

// TestElementwiseNarrow runs the same tests with the assembly for older processors.
func TestElementwiseNarrow(t *testing.T) {
	kerneltest.Narrower(t, map[string]func(*testing.T){
		"Piecewise": TestBent,
		"Roundings": TestRoundings,
		"EqualMask": TestEqualMask,
		"UnaryGrad": TestUnaryGrad,
		"Functions": TestFunctionsFloat32,
		"Unary":     TestUnary,
		"Binary":    TestBinary,
		"Pow":       TestPow,
		"Fmod":      TestFmod,
	})
}

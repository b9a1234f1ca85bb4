package kernel

import (
	"fmt"
	"math"
	"slices"
	"testing"
)

// alike fails the test unless got and want are NaN at the same places and elsewhere equal up to
// tol, relative to want: numbers below the normal ones must not vanish.
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

// fenced calls f with n elements that begin at an odd place, and checks that those around them
// are left alone.
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

// small are numbers without rounding errors in sums and products, with NaN, infinities and
// numbers below the normal ones strewn in at every step elements.
func small(n, seed, step int) []float32 {
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

// against runs f with the assembly and without it, on fenced results of n elements that hold
// the same numbers before.
func against(t *testing.T, what string, n int, tol float64, f func(y []float32)) {
	t.Helper()
	begin := small(n, 3, 0)
	run := func(y []float32) { copy(y, begin); f(y) }
	got := fenced(t, what, n, run)
	portably(func() { alike(t, what, got, fenced(t, what+" (portable)", n, run), tol) })
}

func TestAssemblyGemm(t *testing.T) {
	for m := 1; m <= 13; m++ {
		for _, n := range []int{1, 15, 16, 17, 33, 200} {
			for _, k := range []int{1, 3, 4, 6, 9, 41} {
				for trans := range 4 {
					step := []int{0, 29, 97}[(m+n+k)%3]
					a, b := small(m*k, 1, step), small(k*n, 2, step)
					lda, ldb := k, n
					if trans&1 != 0 {
						lda = m
					}
					if trans&2 != 0 {
						ldb = k
					}
					against(t, fmt.Sprint("Gemm ", m, n, k, trans), m*n, 0, func(y []float32) {
						Gemm(nil, trans&1 != 0, trans&2 != 0, m, n, k, 1, a, lda, b, ldb, float32(k%2), y, n)
					})
				}
			}
		}
	}
}

func TestAssemblyConv(t *testing.T) {
	for i, s := range convShapes {
		s := *s
		s.exact = true // TestWinograd bounds the rounding errors of the other way
		x, w := small(s.N*s.C*product1(s.In), 1, 0), small(s.OC*s.C/max(1, s.Group)*product1(s.Kernel), 2, 0)
		dy := small(s.N*s.OC*product1(s.Out), 3, 0)
		what := fmt.Sprint("convolution ", i, " ")
		against(t, what+"forward", len(dy), 0, func(y []float32) { ConvForward(nil, &s, x, w, Epilogue[float32]{}, y, nil) })
		against(t, what+"epilogue", len(dy), 0, func(y []float32) {
			e := Epilogue[float32]{Shift: small(s.OC, 5, 0), Add: dy, Act: Activation{Kind: ActRelu}}
			ConvForward(nil, &s, x, w, e, y, nil)
		})
		against(t, what+"data", len(x), 0, func(dx []float32) { ConvBackwardData(nil, &s, dy, w, dx, nil) })
		against(t, what+"weight", len(w), 0, func(dw []float32) { ConvBackwardWeight(nil, &s, x, dy, dw, nil) })
	}
}

func TestAssemblyVector(t *testing.T) {
	for n := range 71 {
		// A sum may be formed in any order, which matters to infinities and NaN: none there.
		x, y, v := small(n+1, 1, 11)[1:], small(n, 2, 13), small(n, 4, 0)
		for op := OpAdd; op <= OpRDiv; op++ {
			against(t, fmt.Sprint("Binary ", op), n, 0, func(z []float32) { Binary(nil, op, z, x, y) })
			against(t, fmt.Sprint("BinaryScalar ", op), n, 0, func(z []float32) { BinaryScalar(nil, op, z, x, 1e-42) })
		}
		for what, f := range map[string]func(z []float32){
			"Relu": func(z []float32) { Relu(nil, z, x) }, "Sqrt": func(z []float32) { Sqrt(nil, z, x) },
			"ReluGrad": func(z []float32) { ReluGrad(nil, z, x, y) },
			"ClipGrad": func(z []float32) { ClipGrad(nil, z, x, y, -2, 3) },
			"Axpy":     func(z []float32) { Axpy(nil, 2, x, z) },
			"affine":   func(z []float32) { affine(z, x, 2, 1) },
			"affine2":  func(z []float32) { affine2(z, x, y, 2, 1, 3) },
			"product":  func(z []float32) { addProduct(z, x, y) },
			"sums": func(z []float32) {
				if n >= 6 {
					copy(z, []float32{Sum(nil, v), SumSq(nil, v), Dot(nil, v, v), sumAbs(v), sumSqDiff(v, 2), dotDiff(v, v, 3)})
				}
			},
			"largest": func(z []float32) {
				for i := range z {
					z[i] = Max(nil, y[i:])
				}
			},
		} {
			against(t, what, n, 0, f)
		}
		for what, f := range map[string]func(p *Pool, dst, x []float32){"Exp": Exp[float32], "Tanh": Tanh[float32], "Erf": Erf[float32], "Log": Log[float32]} {
			against(t, what, n, 1e-6, func(z []float32) { f(nil, z, x) })
			against(t, what+" of small numbers", n, 1e-6, func(z []float32) { Scale(nil, 0.11, z, x); f(nil, z, z) })
		}
	}
}

func TestAssemblyMove(t *testing.T) {
	for _, s := range [][2]int{{1, 1}, {8, 8}, {7, 9}, {33, 40}, {70, 17}} {
		x := small(s[0]*s[1], 1, 5)
		against(t, fmt.Sprint("Transpose ", s), len(x), 0, func(z []float32) { Transpose(nil, z, x, s[:], []int{1, 0}) })
	}
	for _, n := range []int{1, 2, 9, 16, 21, 40} {
		s := &PoolShape{N: 1, C: 2, In: []int{n, n + 3}, Out: []int{n, n + 3}, Kernel: []int{3, 3}, PadBegin: []int{1, 1}, PadEnd: []int{1, 1}}
		x := small(2*n*(n+3), 1, 7)
		index, want := make([]int64, len(x)), make([]int64, len(x))
		against(t, fmt.Sprint("MaxPool ", n), len(x), 0, func(y []float32) { MaxPool(nil, s, x, y, index) })
		portably(func() { MaxPool(nil, s, x, make([]float32, len(x)), want) })
		MaxPool(nil, s, x, make([]float32, len(x)), index)
		if !slices.Equal(index, want) {
			t.Errorf("MaxPool %d: indices %v, the portable kernel has %v", n, index, want)
		}
	}
	for _, n := range []int{2, 3, 9, 16, 21, 40} {
		s := &PoolShape{N: 2, C: 3, In: []int{n, n + 3}, Out: []int{n / 2, (n + 3) / 2}, Kernel: []int{2, 2}, Stride: []int{2, 2}}
		in, out := 6*n*(n+3), 6*(n/2)*((n+3)/2)
		x, dy := small(in, 1, 0), small(out, 2, 0)
		against(t, fmt.Sprint("AveragePool ", n), out, 0, func(y []float32) { AveragePool(nil, s, x, y) })
		against(t, fmt.Sprint("AveragePoolGrad ", n), in, 0, func(dx []float32) { AveragePoolGrad(nil, s, dy, dx) })
	}
}

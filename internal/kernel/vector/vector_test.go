package vector

import (
	"fmt"
	"math"
	"testing"

	"github.com/graft-ml/graft/internal/kernel"
	"github.com/graft-ml/graft/internal/kernel/kerneltest"
)

func testVector[T kernel.Float](t *testing.T, tol float64) {
	for name, p := range kerneltest.Pools(t) {
		for _, n := range kerneltest.Lengths {
			x, y := kerneltest.Random[T](n, 1), kerneltest.Random[T](n, 2)
			var s, q, d, a, e float64
			m := math.Inf(-1)
			for i := range x {
				v, w := float64(x[i]), float64(y[i])
				s, q, d, m, a, e = s+v, q+v*v, d+v*w, max(m, v), a+math.Abs(v), e+(v-0.5)*w
			}
			scale := math.Sqrt(float64(n) + 1)
			what := fmt.Sprint(name, " ", n)
			kerneltest.Near(t, what, []T{Sum(p, x), SumSq(p, x), Dot(p, x, y), Max(p, x), BlockSumAbs(x), BlockDotDiff(x, y, 0.5)},
				[]T{T(s), T(q), T(d), T(m), T(a), T(e)}, tol*scale)
			want := make([]T, n)
			for i := range want {
				want[i] = y[i] + 0.75*x[i]
			}
			Axpy(p, 0.75, x, y)
			kerneltest.Near(t, what+" axpy", y, want, tol)
		}
	}
	nan := kerneltest.Random[T](50, 1)
	nan[47] = T(math.NaN())
	if m := Max(nil, nan); m == m {
		t.Errorf("Max with a NaN is %v", m)
	}
}

func TestVector(t *testing.T) {
	t.Run("float32", func(t *testing.T) { testVector[float32](t, 1e-5) })
	t.Run("float64", func(t *testing.T) { testVector[float64](t, 1e-13) })
}

func TestAffine(t *testing.T) {
	for _, n := range []int{1, 8, 31, 77} {
		x, y := kerneltest.Random[float32](n, 1), kerneltest.Random[float32](n, 2)
		got, got2 := make([]float32, n), make([]float32, n)
		want, want2 := make([]float32, n), make([]float32, n)
		Affine(got, x, 1.5, -2)
		Affine2(got2, x, y, 1.5, 0.5, -2)
		for i := range x {
			want[i], want2[i] = x[i]*1.5-2, x[i]*1.5+y[i]*0.5-2
		}
		kerneltest.Near(t, fmt.Sprint("affine ", n), got, want, 1e-6)
		kerneltest.Near(t, fmt.Sprint("affine2 ", n), got2, want2, 1e-6)
	}
}

func TestAssemblyVector(t *testing.T) {
	for n := range 71 {
		// A sum may be formed in any order, which matters to infinities and NaN: none there.
		x, y, v := kerneltest.Small(n+1, 1, 11)[1:], kerneltest.Small(n, 2, 13), kerneltest.Small(n, 4, 0)
		for what, f := range map[string]func(z []float32){
			"Axpy":    func(z []float32) { Axpy(nil, 2, x, z) },
			"affine":  func(z []float32) { Affine(z, x, 2, 1) },
			"affine2": func(z []float32) { Affine2(z, x, y, 2, 1, 3) },
			"product": func(z []float32) { AddProduct(z, x, y) },
			"sums": func(z []float32) {
				if n >= 6 {
					copy(z, []float32{Sum(nil, v), SumSq(nil, v), Dot(nil, v, v), BlockSumAbs(v), BlockSumSqDiff(v, 2), BlockDotDiff(v, v, 3)})
				}
			},
			"largest": func(z []float32) {
				for i := range z {
					z[i] = Max(nil, y[i:])
				}
			},
		} {
			kerneltest.Against(t, what, n, 0, f)
		}
	}
}

// TestVectorNarrow runs the same tests with the assembly for older processors.
func TestVectorNarrow(t *testing.T) {
	kerneltest.Narrower(t, map[string]func(*testing.T){
		"Vector": TestVector,
	})
}

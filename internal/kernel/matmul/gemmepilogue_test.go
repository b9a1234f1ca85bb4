package matmul

import (
	"fmt"
	"math"
	"testing"

	"github.com/graft-ml/graft/internal/kernel"
	"github.com/graft-ml/graft/internal/kernel/elementwise"
	"github.com/graft-ml/graft/internal/kernel/kerneltest"
)

// TestGemmEpilogue compares with the product and the epilogue one after the other.
func TestGemmEpilogue(t *testing.T) {
	t.Run("float32", func(t *testing.T) { testGemmEpilogue[float32](t, 1e-4) })
	t.Run("float64", func(t *testing.T) { testGemmEpilogue[float64](t, 1e-12) })
}

func testGemmEpilogue[T kernel.Float](t *testing.T, tol float64) {
	relu := elementwise.Activation{Kind: elementwise.ActRelu}
	for name, p := range kerneltest.Pools(t) {
		for _, s := range [][3]int{{1, 37, 20}, {2, 16, 9}, {5, 1, 3}, {13, 50, 400}, {40, 1100, 8}, {7, 33, 0}, {70, 200, 800}} {
			m, n, k := s[0], s[1], s[2]
			a, b, ldc := kerneltest.Random[T](m*k, 1), kerneltest.Random[T](k*n, 2), n+n%2
			scale, shift, add, at := kerneltest.Random[T](n, 3), kerneltest.Random[T](n, 4), kerneltest.Random[T](m*ldc, 5), kerneltest.Random[T](m*ldc, 7)
			for i, e := range []elementwise.Epilogue[T]{
				{Shift: shift}, {Act: relu}, {Shift: shift, Act: relu}, {Add: add, Act: relu}, {Scale: scale, Act: relu},
				{Scale: scale, Shift: shift, Add: add}, {Shift: shift, Act: elementwise.Activation{Kind: elementwise.ActGelu}}, {Act: elementwise.Activation{Kind: elementwise.ActTanh}},
				{Shift: shift, Add: add, Act: elementwise.Activation{Kind: elementwise.ActClip, Alpha: -1, Beta: 1}},
				{Slope: elementwise.Activation{Kind: elementwise.ActGelu}, At: at}, {Add: add, Slope: elementwise.Activation{Kind: elementwise.ActGeluTanh}, At: at},
			} {
				for _, beta := range []T{0, 1} {
					what := fmt.Sprint(name, s, "epilogue ", i, " beta ", beta)
					want := kerneltest.Random[T](m*ldc, 6)
					if k > 0 && m > 2 {
						want[0] = T(math.NaN())
					}
					got, packed := append([]T(nil), want...), append([]T(nil), want...)
					Gemm(nil, false, false, m, n, k, 1, a, k, b, n, beta, want, ldc)
					for r := range m {
						for j := range n {
							v := want[r*ldc+j]
							if e.Scale != nil {
								v *= scale[j]
							}
							if e.Shift != nil {
								v += shift[j]
							}
							if e.Add != nil {
								v += add[r*ldc+j]
							}
							want[r*ldc+j] = v
							elementwise.Activate(e.Act, want[r*ldc+j:][:1])
							if e.At != nil {
								elementwise.TimesSlope(e.Slope, want[r*ldc+j:][:1], want[r*ldc+j:][:1], e.At[r*ldc+j:])
							}
						}
					}
					GemmEpilogue(p, false, false, m, n, k, 1, a, k, b, n, beta, got, ldc, e)
					kerneltest.Near(t, what, got, want, tol)
					if m > 2 {
						w := Pack(p, false, k, n, b, n, make([]T, PackedLen(k, n)))
						GemmPackedEpilogue(p, false, m, 1, a, k, w, beta, packed, ldc, e)
						kerneltest.Near(t, "packed "+what, packed, want, tol)
					}
				}
			}
		}
	}
}

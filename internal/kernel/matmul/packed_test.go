package matmul

import (
	"fmt"
	"testing"

	"github.com/graft-ml/graft/internal/kernel"
	"github.com/graft-ml/graft/internal/kernel/kerneltest"
)

func testPacked[T kernel.Float](t *testing.T, tol float64) {
	for name, p := range kerneltest.Pools(t) {
		for _, s := range [][3]int{{1, 5, 3}, {3, 37, 800}, {50, 33, 20}, {20, 1500, 401}, {4, 16, 0}} {
			for trans := range 4 {
				m, n, k := s[0], s[1], s[2]
				transA, transB := trans&1 != 0, trans&2 != 0
				lda, ldb := k, n
				if transA {
					lda = m
				}
				if transB {
					ldb = k
				}
				a, b, c := kerneltest.Random[T](m*k, 1), kerneltest.Random[T](k*n, 2), kerneltest.Random[T](m*n, 3)
				want := append([]T(nil), c...)
				gemmReference(transA, transB, m, n, k, 2, a, lda, b, ldb, 1, want, n)
				packed := Pack(p, transB, k, n, b, ldb, make([]T, PackedLen(k, n)))
				GemmPacked(p, transA, m, 2, a, lda, packed, 1, c, n)
				kerneltest.Near(t, fmt.Sprint(name, s, transA, transB), c, want, tol)
			}
		}
	}
}

func TestPacked(t *testing.T) {
	t.Run("float32", func(t *testing.T) { testPacked[float32](t, 3e-4) })
	t.Run("float64", func(t *testing.T) { testPacked[float64](t, 1e-12) })
}

func TestGemmRefusesShortSlices(t *testing.T) {
	for _, c := range []struct{ a, b, c int }{{5, 6, 4}, {6, 5, 4}, {6, 6, 3}} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("slices of %v were accepted for 2x2x3", c)
				}
			}()
			Gemm(nil, false, false, 2, 2, 3, 1, make([]float32, c.a), 3, make([]float32, c.b), 2, 0, make([]float32, c.c), 2)
		}()
	}
}

package matmul

import (
	"fmt"
	"math"
	"runtime"
	"testing"

	"github.com/graft-ml/graft/internal/kernel"
	"github.com/graft-ml/graft/internal/kernel/kerneltest"
)

func gemmReference[T kernel.Float](transA, transB bool, m, n, k int, alpha T, a []T, lda int, b []T, ldb int, beta T, c []T, ldc int) {
	for i := range m {
		for j := range n {
			var s float64
			for l := range k {
				ai, bi := i*lda+l, l*ldb+j
				if transA {
					ai = l*lda + i
				}
				if transB {
					bi = j*ldb + l
				}
				s += float64(a[ai]) * float64(b[bi])
			}
			if beta == 0 {
				c[i*ldc+j] = T(float64(alpha) * s)
			} else {
				c[i*ldc+j] = T(float64(alpha)*s + float64(beta)*float64(c[i*ldc+j]))
			}
		}
	}
}

func testGemm[T kernel.Float](t *testing.T, tol float64) {
	shapes := [][3]int{{1, 1, 1}, {1, 40, 33}, {2, 17, 5}, {3, 16, 8}, {6, 16, 4}, {7, 15, 13}, {12, 50, 40}, {5, 1, 70}, {13, 33, 400}, {100, 200, 30}, {31, 1030, 9}, {200, 70, 70}, {29, 210, 800}}
	for name, p := range kerneltest.Pools(t) {
		for _, s := range shapes {
			m, n, k := s[0], s[1], s[2]
			for trans := range 4 {
				transA, transB := trans&1 != 0, trans&2 != 0
				lda, ldb, ldc := k+3, n+1, n+2
				ra, rb := m, k
				if transA {
					lda, ra = m+3, k
				}
				if transB {
					ldb, rb = k+1, n
				}
				for _, ab := range [][2]T{{1, 0}, {1, 1}, {-0.5, 2}} {
					a, b, c := kerneltest.Random[T](ra*lda, 1), kerneltest.Random[T](rb*ldb, 2), kerneltest.Random[T](m*ldc, 3)
					if ab[1] == 0 {
						c[0] = T(math.NaN())
					}
					want := append([]T(nil), c...)
					gemmReference(transA, transB, m, n, k, ab[0], a, lda, b, ldb, ab[1], want, ldc)
					Gemm(p, transA, transB, m, n, k, ab[0], a, lda, b, ldb, ab[1], c, ldc)
					kerneltest.Near(t, fmt.Sprint(name, s, transA, transB, ab), c, want, tol)
				}
			}
		}
	}
}

func TestGemm(t *testing.T) {
	t.Run("float32", func(t *testing.T) { testGemm[float32](t, 1e-4) })
	t.Run("float64", func(t *testing.T) { testGemm[float64](t, 1e-12) })
}

func TestGemmEmptyInner(t *testing.T) {
	c := []float32{1, 2, float32(math.NaN()), 4}
	Gemm(nil, false, false, 2, 2, 0, 1, nil, 0, nil, 2, 0, c, 2)
	kerneltest.Near(t, "beta 0", c, []float32{0, 0, 0, 0}, 0)
}

func TestGemmBatch(t *testing.T) {
	for name, p := range kerneltest.Pools(t) {
		const batch, m, n, k = 5, 9, 11, 7
		a, b := kerneltest.Random[float32](batch*m*k, 1), kerneltest.Random[float32](k*n, 2)
		got, want := make([]float32, batch*m*n), make([]float32, batch*m*n)
		GemmBatch(p, batch, false, false, m, n, k, 1, a, k, m*k, b, n, 0, 0, got, n, m*n)
		for i := range batch {
			gemmReference(false, false, m, n, k, 1, a[i*m*k:], k, b, n, 0, want[i*m*n:], n)
		}
		kerneltest.Near(t, name, got, want, 1e-5)
	}
}

func BenchmarkGemm(b *testing.B) {
	for _, threads := range []int{1, 2} {
		if threads > runtime.GOMAXPROCS(0) {
			continue
		}
		p := kernel.NewPool(threads)
		defer p.Close()
		for _, s := range []struct {
			m, n, k        int
			transA, transB bool
		}{
			{512, 512, 512, false, false}, {1024, 1024, 1024, false, false}, {1024, 1024, 1024, true, true},
			{128, 512, 784, false, false}, {128, 512, 784, false, true}, {784, 512, 128, true, false},
			{64, 1000, 512, false, false}, {3136, 64, 576, false, false}, {64, 3136, 576, false, false},
			{1, 1000, 1024, false, false}, {1, 1000, 1024, false, true}, {8, 512, 512, false, true}, {32, 256, 256, false, true},
		} {
			b.Run(fmt.Sprintf("threads=%d/%dx%dx%d/%v,%v", threads, s.m, s.n, s.k, s.transA, s.transB), func(b *testing.B) {
				x, y, c := kerneltest.Random[float32](s.m*s.k, 1), kerneltest.Random[float32](s.k*s.n, 2), make([]float32, s.m*s.n)
				lda, ldb := s.k, s.n
				if s.transA {
					lda = s.m
				}
				if s.transB {
					ldb = s.k
				}
				b.ReportAllocs()
				run := func() { Gemm(p, s.transA, s.transB, s.m, s.n, s.k, 1, x, lda, y, ldb, 0, c, s.n) }
				for b.Loop() {
					run()
				}
				kerneltest.FmaPeak().Compare(b, p, 2*float64(s.m*s.n*s.k), run)
			})
		}
	}
}

// TestGemmTails checks blocks with all numbers of rows and columns, with NaN, infinities and subnormal
// numbers: each must affect only its own elements of C.
func TestGemmTails(t *testing.T) {
	const k, lda, ldb, ldc = 19, 20, 77, 78
	for m := 1; m <= 27; m++ {
		for _, n := range []int{1, 7, 15, 16, 17, 31, 32, 33, 47, 48, 49, 63, 64, 70} {
			a, b, c := kerneltest.Small(m*lda, 1, 41), kerneltest.Small(k*ldb, 2, 97), kerneltest.Small(m*ldc, 3, 0)
			want := append([]float32(nil), c...)
			gemmReference(false, false, m, n, k, 1, a, lda, b, ldb, 1, want, ldc)
			Gemm(nil, false, false, m, n, k, 1, a, lda, b, ldb, 1, c, ldc)
			kerneltest.Near(t, fmt.Sprint(m, "x", n), c, want, 1e-6)
		}
	}
}

func TestAssemblyGemm(t *testing.T) {
	for m := 1; m <= 13; m++ {
		for _, n := range []int{1, 15, 16, 17, 33, 200} {
			for _, k := range []int{1, 3, 4, 6, 9, 41} {
				for trans := range 4 {
					step := []int{0, 29, 97}[(m+n+k)%3]
					a, b := kerneltest.Small(m*k, 1, step), kerneltest.Small(k*n, 2, step)
					lda, ldb := k, n
					if trans&1 != 0 {
						lda = m
					}
					if trans&2 != 0 {
						ldb = k
					}
					kerneltest.Against(t, fmt.Sprint("Gemm ", m, n, k, trans), m*n, 0, func(y []float32) {
						Gemm(nil, trans&1 != 0, trans&2 != 0, m, n, k, 1, a, lda, b, ldb, float32(k%2), y, n)
					})
				}
			}
		}
	}
}

// TestGemmNarrow runs the same tests with the assembly for older processors.
func TestGemmNarrow(t *testing.T) {
	kerneltest.Narrower(t, map[string]func(*testing.T){
		"Gemm":      TestGemm,
		"GemmTails": TestGemmTails,
		"Packed":    TestPacked,
	})
}

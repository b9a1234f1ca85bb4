package matmul

import (
	"unsafe"

	"github.com/graft-ml/graft/internal/kernel"
	"github.com/graft-ml/graft/internal/kernel/elementwise"
)

// Packed is a right operand of Gemm in the packed order of the kernels, for weights
// that are used in many products.
type Packed[T kernel.Float] struct {
	K, N int // op(B) is K×N
	Data []T
}

// Bytes returns how many bytes the elements take.
func (p Packed[T]) Bytes() int64 { return int64(len(p.Data)) * int64(unsafe.Sizeof(*new(T))) }

// PackedLen returns the number of elements that Pack needs.
func PackedLen(k, n int) int { return kernel.CeilDiv(n, NR) * NR * k }

// Pack prepares op(B), k×n, in dst, which holds PackedLen(k, n) elements.
func Pack[T kernel.Float](p *kernel.Pool, transB bool, k, n int, b []T, ldb int, dst []T) Packed[T] {
	if transB {
		return packOperand(p, k, n, &columnsT[T]{b, ldb}, dst)
	}
	return packOperand(p, k, n, &columns[T]{b, ldb}, dst)
}

// PackStacked prepares B, k×n, of which the first rows are the columns of above and the others those
// of below, both with n rows and as many columns in dst, which holds PackedLen elements.
func PackStacked[T kernel.Float](p *kernel.Pool, above, below []T, first, k, n int, dst []T) Packed[T] {
	return packOperand(p, k, n, &stackedT[T]{columnsT[T]{above, first}, columnsT[T]{below, k - first}}, dst)
}

func packOperand[T kernel.Float](p *kernel.Pool, k, n int, src operand[T], dst []T) Packed[T] {
	dst = dst[:PackedLen(k, n)]
	if len(dst) == 0 {
		return Packed[T]{k, n, dst}
	}
	colPanels, kc := kernel.CeilDiv(n, NR), depth(k)
	p.Range(colPanels, max(1, kernel.ElementGrain/(NR*k)), func(lo, hi int) {
		for l := 0; l < k; l += kc {
			p.Check()
			rows := min(kc, k-l)
			src.Pack(l, rows, lo*NR, min(n, hi*NR), dst[l*colPanels*NR+lo*NR*rows:])
		}
	})
	return Packed[T]{k, n, dst}
}

// GemmPacked is Gemm with a packed right operand.
func GemmPacked[T kernel.Float](p *kernel.Pool, transA bool, m int, alpha T, a []T, lda int, b Packed[T], beta T, c []T, ldc int) {
	GemmPackedEpilogue(p, transA, m, alpha, a, lda, b, beta, c, ldc, elementwise.Epilogue[T]{})
}

// GemmPackedEpilogue is GemmEpilogue with a packed right operand.
func GemmPackedEpilogue[T kernel.Float](p *kernel.Pool, transA bool, m int, alpha T, a []T, lda int, b Packed[T], beta T, c []T, ldc int, e elementwise.Epilogue[T]) {
	if m <= 0 || b.N <= 0 {
		return
	}
	if b.K <= 0 || alpha == 0 {
		noProduct(p, m, b.N, beta, c, ldc, &e)
		return
	}
	x := Product[T]{M: m, N: b.N, K: b.K, Alpha: alpha, A: a, RsA: lda, CsA: 1, Packed: b.Data, Beta: beta, C: c, LDC: ldc, Span: b.N}
	if transA {
		x.RsA, x.CsA = 1, lda
	}
	x.finished(p, e)
}

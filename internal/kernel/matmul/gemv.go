package matmul

import (
	"github.com/graft-ml/graft/internal/kernel"
	"github.com/graft-ml/graft/internal/kernel/elementwise"
	"github.com/graft-ml/graft/internal/kernel/vector"
)

// gemv computes products with one or two rows of A, where packing B would cost more
// than multiplying: B is read once, in memory order. They are for float32 with
// assembly only.
func gemv[T kernel.Float](p *kernel.Pool, transB bool, m, n, k int, alpha T, a []T, lda int, b []T, ldb int, beta T, c []T, ldc int, e elementwise.Epilogue[T]) {
	grain := max(64, SmallProduct/(m*k))
	a32, b32, c32 := kernel.Float32s(a), kernel.Float32s(b), kernel.Float32s(c)
	p.Range(kernel.CeilDiv(n, NR), kernel.CeilDiv(grain, NR), func(lo, hi int) {
		lo, hi = lo*NR, min(n, hi*NR)
		for i := range m {
			row := c32[i*ldc:][lo:hi]
			scaleRows(p, 1, len(row), float32(beta), row, len(row))
			p.InPartsOf(k, max(kernel.LongRow>>10, min(kernel.LongRow, 16*kernel.LongRow/len(row))), func(from, to int) {
				if x := a32[i*lda:][from:to]; transB {
					gemvT(to-from, float32(alpha), x, b32[lo*ldb+from:], ldb, row)
				} else {
					gemvN(to-from, float32(alpha), x, b32[from*ldb+lo:], ldb, row)
				}
			})
		}
		finishColumns(&e, c, ldc, 0, m, lo, hi)
	})
}

// gemvN adds alpha*a*B to y, four rows of B at a time.
func gemvN(k int, alpha float32, a, b []float32, ldb int, y []float32) {
	_ = b[(k-1)*ldb+len(y)-1]
	f := kernel.Borrow[float32](4)
	defer kernel.GiveBack(f)
	l := 0
	for ; l+4 <= k; l += 4 {
		for q := range 4 {
			(*f)[q] = alpha * a[l+q]
		}
		axpy4(len(y), &(*f)[0], &b[l*ldb], ldb*4, &y[0])
	}
	for ; l < k; l++ {
		vector.AddScaled(alpha*a[l], b[l*ldb:], y)
	}
}

// gemvT adds alpha*a*Bᵀ to y, four rows of B at a time.
func gemvT(k int, alpha float32, a, b []float32, ldb int, y []float32) {
	_ = b[(len(y)-1)*ldb+k-1]
	f := kernel.Borrow[float32](4)
	defer kernel.GiveBack(f)
	d := (*f)[:4]
	j := 0
	for ; j+4 <= len(y); j += 4 {
		dot4(k, &a[0], &b[j*ldb], ldb*4, &d[0])
		for q, v := range d {
			y[j+q] += alpha * v
		}
	}
	for ; j < len(y); j++ {
		y[j] += alpha * vector.BlockDot(a[:k], b[j*ldb:][:k])
	}
}

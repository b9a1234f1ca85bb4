package matmul

import (
	"fmt"

	"github.com/graft-ml/graft/internal/kernel"
	"github.com/graft-ml/graft/internal/kernel/elementwise"
)

// The matrix product follows the usual scheme (Goto, van de Geijn 2008; Van Zee,
// van de Geijn 2015): a micro-kernel keeps a block of MR×NR results in registers;
// it reads columns of the right operand from column panels of NR and rows of the left
// operand in place or from panels of MR, both cut to kcMax of the inner dimension
// so that a column panel stays in the L1 cache and mcMax rows of panels in the L2
// cache. Each worker packs its own operands, without barriers.
const (
	MR, NR = 6, 16
	kcMax  = 384
	mcMax  = 96
	ncMax  = 1024
)

// Gemm computes C = alpha*op(A)*op(B) + beta*C. The matrices are row-major with lda,
// ldb and ldc elements from row to row; op(A) is m×k, op(B) k×n and C m×n, op being
// transposition where transA or transB is set. With beta = 0, C is not read.
func Gemm[T kernel.Float](p *kernel.Pool, transA, transB bool, m, n, k int, alpha T, a []T, lda int, b []T, ldb int, beta T, c []T, ldc int) {
	GemmEpilogue(p, transA, transB, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc, elementwise.Epilogue[T]{})
}

// GemmEpilogue is Gemm with the epilogue e, whose channels are the columns of C.
func GemmEpilogue[T kernel.Float](p *kernel.Pool, transA, transB bool, m, n, k int, alpha T, a []T, lda int, b []T, ldb int, beta T, c []T, ldc int, e elementwise.Epilogue[T]) {
	if m <= 0 || n <= 0 {
		return
	}
	if need := (m-1)*ldc + n; len(c) < need {
		panic(fmt.Sprintf("kernel: Gemm: C has %d elements, %d needed", len(c), need))
	}
	if k <= 0 || alpha == 0 {
		noProduct(p, m, n, beta, c, ldc, &e)
		return
	}
	needA, needB := (m-1)*lda+k, (k-1)*ldb+n
	if transA {
		needA = (k-1)*lda + m
	}
	if transB {
		needB = (n-1)*ldb + k
	}
	if len(a) < needA || len(b) < needB {
		panic(fmt.Sprintf("kernel: Gemm: A and B have %d and %d elements, %d and %d needed", len(a), len(b), needA, needB))
	}
	if kernel.IsFloat32[T]() && kernel.Has(kernel.BlockGroup) && m <= 2 && !transA {
		gemv(p, transB, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc, e)
		return
	}
	x := Product[T]{M: m, N: n, K: k, Alpha: alpha, A: a, RsA: lda, CsA: 1, Beta: beta, C: c, LDC: ldc, Span: n, WeightB: 40}
	if transA {
		x.RsA, x.CsA = 1, lda
	}
	if transB {
		x.B = &columnsT[T]{b, ldb}
	} else {
		x.B, x.direct, x.ldb = &columns[T]{b, ldb}, b, ldb
		if kernel.AVX512 && kernel.IsFloat32[T]() {
			x.WeightB = 12 // large blocks pack B as they read it
		}
	}
	x.finished(p, e)
}

// GemmBatch computes batch products of equal shape: number i reads a[i*strideA:] and
// b[i*strideB:] and writes c[i*strideC:]. A stride of 0 shares an operand.
func GemmBatch[T kernel.Float](p *kernel.Pool, batch int, transA, transB bool, m, n, k int, alpha T, a []T, lda, strideA int, b []T, ldb, strideB int, beta T, c []T, ldc, strideC int) {
	if batch < p.Threads() {
		for i := range batch {
			Gemm(p, transA, transB, m, n, k, alpha, a[i*strideA:], lda, b[i*strideB:], ldb, beta, c[i*strideC:], ldc)
		}
		return
	}
	p.Range(batch, max(1, SmallProduct/max(1, m*n*k)), func(lo, hi int) {
		for i := lo; i < hi; i++ {
			Gemm(p.Serial(), transA, transB, m, n, k, alpha, a[i*strideA:], lda, b[i*strideB:], ldb, beta, c[i*strideC:], ldc)
		}
	})
}

// SmallProduct is the number of multiply-adds below which another thread does not pay off.
const SmallProduct = 100_000

// operand is the right operand of a product, given by the function that packs it.
type operand[T kernel.Float] interface {
	// pack writes rows l to l+kc of columns j to je as column panels of kc rows of nr elements,
	// the last one padded with 0.
	Pack(l, kc, j, je int, dst []T)
}

// leftOperand is a left operand that is not stored as a matrix.
type leftOperand[T kernel.Float] interface {
	// fill writes columns l to l+kc of rows i to i+rows; ld elements from row to row,
	// at least kc rounded up to 8.
	Fill(i, rows, l, kc int, dst []T, ld int)
}

// Product is C = alpha*A*B + beta*C (+ bias per row or shift per column, then clipped below 0).
type Product[T kernel.Float] struct {
	M, N, K  int
	Alpha    T
	A        []T
	RsA, CsA int            // elements from row to row and from column to column
	Left     leftOperand[T] // if not nil, used instead of a
	B        operand[T]
	Packed   []T // if not nil, packed B, used instead of b
	direct   []T // B in place, nil where it must be packed
	ldb      int
	WeightB  int // cost of packing one element of B, in multiply-adds

	Beta  T
	C     []T
	LDC   int
	Bias  []T // per row, or nil
	shift []T // per column, or nil; whole column panels can be read
	Relu  bool
	end   *elementwise.Epilogue[T] // epilogue with the columns as channels; or nil
	rest  elementwise.Epilogue[T]  // storage for end
	Span  int                      // columns are cut in images of this many …
	Image int                      // … which are this many elements of C apart
	// where replaces span and image: it writes the positions of columns j to j+cols
	// in the first row of C, in ascending order.
	Where func(j, cols int, at *[NR]int)
	pool  *kernel.Pool // that it runs on
}

// Run computes the product on the pool, as a grid of equal parts of C or split along the inner dimension.
func (x *Product[T]) Run(p *kernel.Pool) {
	x.pool = p
	panels, colPanels := kernel.CeilDiv(x.M, MR), kernel.CeilDiv(x.N, NR)
	rows, cols, cost := x.grid(p.Threads(), panels, colPanels)
	switch {
	case rows*cols == 1:
		x.part(0, x.M, 0, x.N, 0, x.K)
		return
	case x.deep() && x.depthCost(rows*cols, panels, colPanels) < cost:
		x.runDeep(p, rows*cols)
		return
	}
	p.Run(rows*cols, func(_, t int) {
		r, c := t/cols, t%cols
		x.part(r*panels/rows*MR, min(x.M, (r+1)*panels/rows*MR), c*colPanels/cols*NR, min(x.N, (c+1)*colPanels/cols*NR), 0, x.K)
	})
}

// grid returns the numbers of parts of rows and columns that minimize the cost of the largest
// part, including packing, in multiply-adds for each column of A.
func (x *Product[T]) grid(threads, panels, colPanels int) (rows, cols, least int) {
	if size := float64(x.M) * float64(x.N) * float64(x.K) / SmallProduct; size < float64(threads) {
		threads = 1 + int(size)
	}
	for r := 1; r <= min(threads, panels); r++ {
		c := min(threads/r, colPanels)
		if cost := x.cost(kernel.CeilDiv(panels, r), kernel.CeilDiv(colPanels, c)); least == 0 || cost < least {
			least, rows, cols = cost, r, c
		}
	}
	return rows, cols, least
}

// cost returns the cost of a part with the given numbers of panels and column panels.
func (x *Product[T]) cost(panels, colPanels int) int {
	return panels*colPanels*MR*NR + colPanels*NR*x.WeightB + panels*MR*30
}

// noProduct is C := beta*C, and the epilogue.
func noProduct[T kernel.Float](p *kernel.Pool, m, n int, beta T, c []T, ldc int, e *elementwise.Epilogue[T]) {
	p.Range(m, 1+4096/n, func(lo, hi int) {
		scaleRows(p, hi-lo, n, beta, c[lo*ldc:], ldc)
		finishColumns(e, c, ldc, lo, hi, 0, n)
	})
}

// scaleRows multiplies an m×n block by beta; 0 clears it, NaN included.
func scaleRows[T kernel.Float](p *kernel.Pool, m, n int, beta T, c []T, ldc int) {
	if beta == 1 {
		return
	}
	pace := p.Pace()
	for i := range m {
		for row := c[i*ldc:][:n]; len(row) > 0; {
			part := row[:min(len(row), kernel.LongRow)]
			row = row[len(part):]
			pace.Did(8 + len(part)/4)
			if beta == 0 {
				clear(part)
				continue
			}
			for j := range part {
				part[j] *= beta
			}
		}
	}
}

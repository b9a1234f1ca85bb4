package kernel

import "fmt"

// The matrix product follows the usual scheme (Goto, van de Geijn 2008; Van Zee,
// van de Geijn 2015): a micro-kernel keeps a block of mr×nr results in registers;
// it reads columns of the right operand from strips of nr and rows of the left
// operand in place or from panels of mr, both cut to kcMax of the inner dimension
// so that a strip stays in the first cache level and mcMax rows of panels in the
// second. Each worker packs what it needs by itself: there is no barrier inside.
const (
	mr, nr = 6, 16
	kcMax  = 384
	mcMax  = 96
	ncMax  = 1024
)

// Gemm computes C = alpha*op(A)*op(B) + beta*C. The matrices are row-major with lda,
// ldb and ldc elements from row to row; op(A) is m×k, op(B) k×n and C m×n, op being
// transposition where transA or transB is set. With beta = 0, C is not read.
func Gemm[T Float](p *Pool, transA, transB bool, m, n, k int, alpha T, a []T, lda int, b []T, ldb int, beta T, c []T, ldc int) {
	GemmEpilogue(p, transA, transB, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc, Epilogue[T]{})
}

// GemmEpilogue is Gemm, and e finishes C, whose columns are its channels.
func GemmEpilogue[T Float](p *Pool, transA, transB bool, m, n, k int, alpha T, a []T, lda int, b []T, ldb int, beta T, c []T, ldc int, e Epilogue[T]) {
	if m <= 0 || n <= 0 {
		return
	}
	if need := (m-1)*ldc + n; len(c) < need {
		panic(fmt.Sprintf("kernel: Gemm: C has %d elements, %d needed", len(c), need))
	}
	if k <= 0 || alpha == 0 {
		scaleRows(m, n, beta, c, ldc)
		finishColumns(&e, c, ldc, 0, m, 0, n)
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
	if single[T]() && has(blockGroup) && m <= 2 && !transA {
		gemv(p, transB, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc, e)
		return
	}
	x := product[T]{m: m, n: n, k: k, alpha: alpha, a: a, rsA: lda, csA: 1, beta: beta, c: c, ldc: ldc, span: n, weightB: 40}
	if transA {
		x.rsA, x.csA = 1, lda
	}
	if transB {
		x.b = &columnsT[T]{b, ldb}
	} else {
		x.b, x.direct, x.ldb = &columns[T]{b, ldb}, b, ldb
		if avx512 && single[T]() {
			x.weightB = 12 // large blocks pack B as they read it
		}
	}
	x.finished(p, e)
}

// GemmBatch computes batch products of equal shape: number i reads a[i*strideA:] and
// b[i*strideB:] and writes c[i*strideC:]. A stride of 0 shares an operand.
func GemmBatch[T Float](p *Pool, batch int, transA, transB bool, m, n, k int, alpha T, a []T, lda, strideA int, b []T, ldb, strideB int, beta T, c []T, ldc, strideC int) {
	if batch < p.Threads() {
		for i := range batch {
			Gemm(p, transA, transB, m, n, k, alpha, a[i*strideA:], lda, b[i*strideB:], ldb, beta, c[i*strideC:], ldc)
		}
		return
	}
	p.Range(batch, max(1, smallProduct/max(1, m*n*k)), func(lo, hi int) {
		for i := lo; i < hi; i++ {
			Gemm(nil, transA, transB, m, n, k, alpha, a[i*strideA:], lda, b[i*strideB:], ldb, beta, c[i*strideC:], ldc)
		}
	})
}

// smallProduct is the number of multiply-adds below which another thread does not pay.
const smallProduct = 100_000

// operand is the right-hand side of a product, seen through the routine that packs it.
type operand[T Float] interface {
	// pack writes rows l to l+kc of columns j to je, strip by strip: kc rows of nr
	// elements each, 0 where the last strip has no column.
	pack(l, kc, j, je int, dst []T)
}

// leftOperand is a left-hand side that is not a matrix in memory.
type leftOperand[T Float] interface {
	// fill writes columns l to l+kc of rows i to i+rows; ld elements from row to row,
	// at least kc rounded up to 8.
	fill(i, rows, l, kc int, dst []T, ld int)
}

// product is C = alpha*A*B + beta*C (+ bias per row or shift per column, then clipped below 0).
type product[T Float] struct {
	m, n, k  int
	alpha    T
	a        []T
	rsA, csA int            // elements from row to row and from column to column
	left     leftOperand[T] // in place of a, or nil
	b        operand[T]
	packed   []T // B packed before, in place of b, or nil
	direct   []T // B in place, nil where it must be packed
	ldb      int
	weightB  int // cost of packing one element of B, in multiply-adds

	beta  T
	c     []T
	ldc   int
	bias  []T // per row, or nil
	shift []T // per column, or nil; whole strips can be read
	relu  bool
	end   *Epilogue[T] // what follows, the columns being channels; or nil
	rest  Epilogue[T]  // where that is kept
	span  int          // columns are cut in images of this many …
	image int          // … which are this many elements of C apart
	// where replaces span and image: it writes the positions of columns j to j+cols
	// in the first row of C, in ascending order.
	where func(j, cols int, at *[nr]int)
}

// run spreads the product over the pool as a grid of equal parts, or cuts the inner dimension.
func (x *product[T]) run(p *Pool) {
	panels, strips := cdiv(x.m, mr), cdiv(x.n, nr)
	rows, cols, cost := x.grid(p.Threads(), panels, strips)
	switch {
	case rows*cols == 1:
		x.part(0, x.m, 0, x.n, 0, x.k)
		return
	case x.deep() && x.depthCost(rows*cols, panels, strips) < cost:
		x.runDeep(p, rows*cols)
		return
	}
	p.Run(rows*cols, func(_, t int) {
		r, c := t/cols, t%cols
		x.part(r*panels/rows*mr, min(x.m, (r+1)*panels/rows*mr), c*strips/cols*nr, min(x.n, (c+1)*strips/cols*nr), 0, x.k)
	})
}

// grid chooses into how many parts rows and columns are cut: the cheapest largest
// part, packing counted. The cost is in multiply-adds for each column of A.
func (x *product[T]) grid(threads, panels, strips int) (rows, cols, least int) {
	if size := float64(x.m) * float64(x.n) * float64(x.k) / smallProduct; size < float64(threads) {
		threads = 1 + int(size)
	}
	for r := 1; r <= min(threads, panels); r++ {
		c := min(threads/r, strips)
		if cost := x.cost(cdiv(panels, r), cdiv(strips, c)); least == 0 || cost < least {
			least, rows, cols = cost, r, c
		}
	}
	return rows, cols, least
}

// cost is that of a part of so many panels and strips.
func (x *product[T]) cost(panels, strips int) int {
	return panels*strips*mr*nr + strips*nr*x.weightB + panels*mr*30
}

// scaleRows multiplies an m×n block by beta; 0 clears it, NaN included.
func scaleRows[T Float](m, n int, beta T, c []T, ldc int) {
	for i := range m {
		row := c[i*ldc:][:n]
		switch beta {
		case 0:
			clear(row)
		case 1:
		default:
			for j := range row {
				row[j] *= beta
			}
		}
	}
}

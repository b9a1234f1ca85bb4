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
	if m <= 0 || n <= 0 {
		return
	}
	if need := (m-1)*ldc + n; len(c) < need {
		panic(fmt.Sprintf("kernel: Gemm: C has %d elements, %d needed", len(c), need))
	}
	if k <= 0 || alpha == 0 {
		scaleRows(m, n, beta, c, ldc)
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
	if single[T]() && simd && m <= 2 && !transA {
		gemv(p, transB, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc)
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
	}
	x.run(p)
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

// product is C = alpha*A*B + beta*C (+ bias per row, then clipped below 0).
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
	relu  bool
	span  int // columns are cut in images of this many …
	image int // … which are this many elements of C apart
	// where replaces span and image: it writes the positions of columns j to j+cols
	// in the first row of C, in ascending order.
	where func(j, cols int, at *[nr]int)
}

// run spreads the product over the pool as a grid of equal parts.
func (x *product[T]) run(p *Pool) {
	panels, strips := cdiv(x.m, mr), cdiv(x.n, nr)
	rows, cols := x.grid(p.Threads(), panels, strips)
	if rows*cols == 1 {
		x.part(0, x.m, 0, x.n, 0, x.k)
		return
	}
	p.Run(rows*cols, func(_, t int) {
		r, c := t/cols, t%cols
		x.part(r*panels/rows*mr, min(x.m, (r+1)*panels/rows*mr), c*strips/cols*nr, min(x.n, (c+1)*strips/cols*nr), 0, x.k)
	})
}

// grid chooses into how many parts rows and columns are cut: the cheapest largest
// part, packing counted.
func (x *product[T]) grid(threads, panels, strips int) (rows, cols int) {
	threads = min(threads, 1+x.m*x.n/smallProduct*x.k, 1+x.m*x.n*x.k/smallProduct)
	best := 0
	for r := 1; r <= min(threads, panels); r++ {
		c := min(threads/r, strips)
		p, s := cdiv(panels, r), cdiv(strips, c)
		if cost := p*s*mr*nr + s*nr*x.weightB + p*mr*30; best == 0 || cost < best {
			best, rows, cols = cost, r, c
		}
	}
	return rows, cols
}

// part computes rows i0 to i1 and columns j0 to j1, of the inner dimension l0 to l1;
// i0 and j0 are multiples of mr and nr.
func (x *product[T]) part(i0, i1, j0, j1, l0, l1 int) {
	kc := depth(l1 - l0)
	nc, mc := min(ncMax, j1-j0), min(mcMax, i1-i0)
	w := worker[T]{
		product: x,
		packA:   x.left == nil && (x.alpha != 1 || j1-j0 >= 192),
		inPlace: x.direct != nil && i1-i0 <= 2*mr,
	}
	strips, panels := cdiv(nc, nr)*nr*kc, cdiv(mc, mr)*mr*(kc+16)
	if x.packed != nil {
		strips = 0
	}
	buffer := borrow[T](mr*nr + strips + panels)
	defer giveBack(buffer)
	w.tile, w.strips = (*buffer)[:mr*nr], (*buffer)[mr*nr:][:strips]
	w.panels = (*buffer)[mr*nr+strips:][:panels]
	for jc := j0; jc < j1; jc += nc {
		je := min(jc+nc, j1)
		if x.beta != 0 && x.beta != 1 {
			scaleRows(i1-i0, je-jc, x.beta, x.c[i0*x.ldc+jc:], x.ldc)
		}
		for l := l0; l < l1; l += kc {
			w.l, w.kc = l, min(kc, l1-l)
			w.flags = x.flags(l > l0 || x.beta != 0, l+w.kc == l1)
			w.packStrips(jc, je)
			for ic := i0; ic < i1; ic += mc {
				w.block(ic, min(ic+mc, i1), jc, je)
			}
		}
	}
}

// depth is into which pieces an inner dimension k is cut.
func depth(k int) int {
	kc := cdiv(k, cdiv(k, kcMax))
	if kc < k {
		kc = cdiv(kc, 8) * 8
	}
	return kc
}

// flags is what the micro-kernel has to do for a piece of the inner dimension.
func (x *product[T]) flags(add, last bool) (flags int) {
	if add {
		flags |= flagAdd
	}
	if last && x.bias != nil {
		flags |= flagBias
	}
	if last && x.relu {
		flags |= flagRelu
	}
	return flags
}

// worker is the state of one part.
type worker[T Float] struct {
	*product[T]
	packA, inPlace       bool
	tile, strips, panels []T
	l, kc, flags         int
	at                   [nr]int // where the columns of a strip lie in a row of C
}

// packStrips packs columns jc to je of the current rows of B, all of them or, where
// B is used in place, an incomplete last strip.
func (w *worker[T]) packStrips(jc, je int) {
	from := jc
	if w.packed != nil {
		return
	}
	if w.inPlace {
		from += (je - jc) / nr * nr
	}
	if from < je {
		w.b.pack(w.l, w.kc, from, je, w.strips[(from-jc)*w.kc:])
	}
}

// block multiplies rows ic to ie with the packed columns jc to je.
func (w *worker[T]) block(ic, ie, jc, je int) {
	fillLD := (w.kc+7)&^7 + 8
	switch {
	case w.left != nil:
		w.left.fill(ic, ie-ic, w.l, w.kc, w.panels, fillLD)
	case w.packA:
		for i := ic; i < ie; i += mr {
			w.packPanel(i, min(mr, ie-i), w.panels[(i-ic)*w.kc:][:mr*w.kc])
		}
	}
	for j := jc; j < je; j += nr {
		cols := min(nr, je-j)
		whole := w.locate(j, cols)
		b, rsB := w.strips, nr
		if w.packed != nil {
			b = w.packed[w.l*cdiv(w.n, nr)*nr+j*w.kc:]
		} else if w.inPlace && cols == nr {
			b, rsB = w.direct[w.l*w.ldb+j:], w.ldb
		} else {
			b = b[(j-jc)*w.kc:]
		}
		for i := ic; i < ie; i += mr {
			rows := min(mr, ie-i)
			var a, bias []T
			var rsA, csA int
			switch {
			case w.left != nil:
				a, rsA, csA = w.panels[(i-ic)*fillLD:], fillLD, 1
			case w.packA:
				a, rsA, csA = w.panels[(i-ic)*w.kc:], 1, mr
			default:
				a, rsA, csA = w.a[i*w.rsA+w.l*w.csA:], w.rsA, w.csA
			}
			if w.flags&flagBias != 0 {
				bias = w.bias[i:][:rows]
			}
			if whole {
				c := w.c[w.at[0]+i*w.ldc:]
				micro(rows, w.kc, a, rsA, csA, b, rsB, c[:(rows-1)*w.ldc+nr], w.ldc, w.flags, bias)
				continue
			}
			if w.flags&flagAdd != 0 {
				w.gather(i, rows, cols)
			}
			micro(rows, w.kc, a, rsA, csA, b, rsB, w.tile, nr, w.flags, bias)
			w.scatter(i, rows, cols)
		}
	}
}

// locate finds where columns j to j+cols lie in a row of C, and whether they are a
// full strip in one piece.
func (w *worker[T]) locate(j, cols int) bool {
	at := &w.at
	if w.where != nil {
		w.where(j, cols, at)
	} else {
		q, r := j/w.span, j%w.span
		for i := range cols {
			at[i] = q*w.image + r
			if r++; r == w.span {
				q, r = q+1, 0
			}
		}
	}
	return cols == nr && at[nr-1]-at[0] == nr-1
}

func (w *worker[T]) gather(i, rows, cols int) {
	for r := range rows {
		c, t := w.c[(i+r)*w.ldc:], w.tile[r*nr:][:nr]
		for q, v := range w.at[:cols] {
			t[q] = c[v]
		}
	}
}

func (w *worker[T]) scatter(i, rows, cols int) {
	for r := range rows {
		c, t := w.c[(i+r)*w.ldc:], w.tile[r*nr:][:nr]
		for q, v := range w.at[:cols] {
			c[v] = t[q]
		}
	}
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

package kernel

// Packed is a right operand of Gemm in the order in which the kernels read it, for
// weights that take part in many products.
type Packed[T Float] struct {
	K, N int // op(B) is K×N
	data []T
}

// PackedLen is how many elements Pack needs.
func PackedLen(k, n int) int { return cdiv(n, nr) * nr * k }

// Pack prepares op(B), k×n, in dst, which holds PackedLen(k, n) elements.
func Pack[T Float](p *Pool, transB bool, k, n int, b []T, ldb int, dst []T) Packed[T] {
	if transB {
		return packOperand(p, k, n, &columnsT[T]{b, ldb}, dst)
	}
	return packOperand(p, k, n, &columns[T]{b, ldb}, dst)
}

// packStacked prepares B, k×n, of which the first rows are the columns of above and the others those
// of below, both with n rows and as many columns in dst, which holds PackedLen elements.
func packStacked[T Float](p *Pool, above, below []T, first, k, n int, dst []T) Packed[T] {
	return packOperand(p, k, n, &stackedT[T]{columnsT[T]{above, first}, columnsT[T]{below, k - first}}, dst)
}

func packOperand[T Float](p *Pool, k, n int, src operand[T], dst []T) Packed[T] {
	dst = dst[:PackedLen(k, n)]
	if len(dst) == 0 {
		return Packed[T]{k, n, dst}
	}
	strips, kc := cdiv(n, nr), depth(k)
	p.Range(strips, max(1, elementGrain/(nr*k)), func(lo, hi int) {
		for l := 0; l < k; l += kc {
			rows := min(kc, k-l)
			src.pack(l, rows, lo*nr, min(n, hi*nr), dst[l*strips*nr+lo*nr*rows:])
		}
	})
	return Packed[T]{k, n, dst}
}

// GemmPacked is Gemm with a packed right operand.
func GemmPacked[T Float](p *Pool, transA bool, m int, alpha T, a []T, lda int, b Packed[T], beta T, c []T, ldc int) {
	GemmPackedEpilogue(p, transA, m, alpha, a, lda, b, beta, c, ldc, Epilogue[T]{})
}

// GemmPackedEpilogue is GemmEpilogue with a packed right operand.
func GemmPackedEpilogue[T Float](p *Pool, transA bool, m int, alpha T, a []T, lda int, b Packed[T], beta T, c []T, ldc int, e Epilogue[T]) {
	if m <= 0 || b.N <= 0 {
		return
	}
	if b.K <= 0 || alpha == 0 {
		scaleRows(m, b.N, beta, c, ldc)
		finishColumns(&e, c, ldc, 0, m, 0, b.N)
		return
	}
	x := product[T]{m: m, n: b.N, k: b.K, alpha: alpha, a: a, rsA: lda, csA: 1, packed: b.data, beta: beta, c: c, ldc: ldc, span: b.N}
	if transA {
		x.rsA, x.csA = 1, lda
	}
	x.finished(p, e)
}

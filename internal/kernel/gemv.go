package kernel

// gemv computes products with one or two rows of A, where packing B would cost more
// than multiplying: B is read once, in the order in which it lies in memory. It is
// for float32 with assembly only.
func gemv[T Float](p *Pool, transB bool, m, n, k int, alpha T, a []T, lda int, b []T, ldb int, beta T, c []T, ldc int, e Epilogue[T]) {
	grain := max(64, smallProduct/(m*k))
	a32, b32, c32 := as32(a), as32(b), as32(c)
	p.Range(cdiv(n, nr), cdiv(grain, nr), func(lo, hi int) {
		lo, hi = lo*nr, min(n, hi*nr)
		for i := range m {
			row := c32[i*ldc:][lo:hi]
			scaleRows(1, len(row), float32(beta), row, len(row))
			if transB {
				gemvT(k, float32(alpha), a32[i*lda:][:k], b32[lo*ldb:], ldb, row)
			} else {
				gemvN(k, float32(alpha), a32[i*lda:][:k], b32[lo:], ldb, row)
			}
		}
		finishColumns(&e, c, ldc, 0, m, lo, hi)
	})
}

// gemvN adds alpha*a*B to y, four rows of B at a time.
func gemvN(k int, alpha float32, a, b []float32, ldb int, y []float32) {
	_ = b[(k-1)*ldb+len(y)-1]
	f := Borrow[float32](4)
	defer GiveBack(f)
	l := 0
	for ; l+4 <= k; l += 4 {
		for q := range 4 {
			(*f)[q] = alpha * a[l+q]
		}
		axpy4(len(y), &(*f)[0], &b[l*ldb], ldb*4, &y[0])
	}
	for ; l < k; l++ {
		axpy(alpha*a[l], b[l*ldb:], y)
	}
}

// gemvT adds alpha*a*Bᵀ to y, four rows of B at a time.
func gemvT(k int, alpha float32, a, b []float32, ldb int, y []float32) {
	_ = b[(len(y)-1)*ldb+k-1]
	f := Borrow[float32](4)
	defer GiveBack(f)
	d := (*f)[:4]
	j := 0
	for ; j+4 <= len(y); j += 4 {
		dot4(k, &a[0], &b[j*ldb], ldb*4, &d[0])
		for q, v := range d {
			y[j+q] += alpha * v
		}
	}
	for ; j < len(y); j++ {
		y[j] += alpha * dot(a[:k], b[j*ldb:][:k])
	}
}

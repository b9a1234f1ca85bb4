package kernel

import "math"

// sumBlock is how many elements are summed before the sum joins the others. Pieces
// of this fixed length make sums independent of the number of threads.
const sumBlock = 1 << 14

// Axpy adds alpha*x to y.
func Axpy[T Float](p *Pool, alpha T, x, y []T) {
	x = x[:len(y)]
	p.Range(len(y), elementGrain, func(lo, hi int) { axpy(alpha, x[lo:hi], y[lo:hi]) })
}

// Sum adds up all elements, 0 of none.
func Sum[T Float](p *Pool, x []T) T {
	if len(x) <= sumBlock { // without a closure: callers loop over blocks
		return sum(x)
	}
	return fold(p, x, func(lo, hi int) T { return sum(x[lo:hi]) })
}

// SumSq adds up the squares of all elements.
func SumSq[T Float](p *Pool, x []T) T {
	if len(x) <= sumBlock { // without a closure: callers loop over blocks
		return sumSq(x)
	}
	return fold(p, x, func(lo, hi int) T { return sumSq(x[lo:hi]) })
}

// Dot is the scalar product of x and y, which are equally long.
func Dot[T Float](p *Pool, x, y []T) T {
	y = y[:len(x)]
	return fold(p, x, func(lo, hi int) T { return dot(x[lo:hi], y[lo:hi]) })
}

// Max is the largest element, NaN if any is NaN, -Inf of none.
func Max[T Float](p *Pool, x []T) T { return largest(x) }

// fold adds the sums of blocks in order.
func fold[T Float](p *Pool, x []T, block func(lo, hi int) T) T {
	blocks := cdiv(len(x), sumBlock)
	if blocks <= 1 {
		return block(0, len(x))
	}
	part := Borrow[T](blocks)
	defer GiveBack(part)
	p.Run(blocks, func(_, i int) { (*part)[i] = block(i*sumBlock, min(len(x), (i+1)*sumBlock)) })
	var s T
	for _, v := range (*part)[:blocks] {
		s += v
	}
	return s
}

// The functions below work on one thread.

func axpy[T Float](alpha T, x, y []T) {
	if vectorizable(y, x) {
		a := float32(alpha)
		axpyV(len(y), &as32(y)[0], &as32(x)[0], &a)
		return
	}
	for i, v := range x[:len(y)] {
		y[i] += alpha * v
	}
}

// addProduct adds a*b to y.
func addProduct[T Float](y, a, b []T) {
	a, b = a[:len(y)], b[:len(y)]
	if vectorizable(y, a) {
		mulAddVV(len(y), &as32(y)[0], &as32(a)[0], &as32(b)[0])
		return
	}
	for i := range y {
		y[i] += a[i] * b[i]
	}
}

// affine computes dst = x*a + b; dst may be x.
func affine[T Float](dst, x []T, a, b T) {
	x = x[:len(dst)]
	if vectorizable(dst, x) {
		s := [2]float32{float32(a), float32(b)}
		affineVS(len(dst), &as32(dst)[0], &as32(x)[0], &s[0])
		return
	}
	for i, v := range x {
		dst[i] = v*a + b
	}
}

// affine2 computes dst = x*a + y*b + c; dst may be x or y.
func affine2[T Float](dst, x, y []T, a, b, c T) {
	x, y = x[:len(dst)], y[:len(dst)]
	if vectorizable(dst, x) {
		s := [3]float32{float32(a), float32(b), float32(c)}
		affineVV(len(dst), &as32(dst)[0], &as32(x)[0], &as32(y)[0], &s[0])
		return
	}
	for i, v := range x {
		dst[i] = v*a + y[i]*b + c
	}
}

func sum[T Float](x []T) T {
	if vectorizable(x, x) {
		return T(sumV(len(x), &as32(x)[0]))
	}
	var s T
	for _, v := range x {
		s += v
	}
	return s
}

func sumSq[T Float](x []T) T {
	if vectorizable(x, x) {
		return T(sumSqV(len(x), &as32(x)[0]))
	}
	var s T
	for _, v := range x {
		s += v * v
	}
	return s
}

func sumAbs[T Float](x []T) T {
	if vectorizable(x, x) {
		return T(sumAbsV(len(x), &as32(x)[0]))
	}
	var s T
	for _, v := range x {
		s += max(v, -v)
	}
	return s
}

// sumSqDiff is the sum of (x[i]-m)².
func sumSqDiff[T Float](x []T, m T) T {
	if vectorizable(x, x) {
		v := float32(m)
		return T(sumSqDiffV(len(x), &as32(x)[0], &v))
	}
	var s T
	for _, v := range x {
		s += (v - m) * (v - m)
	}
	return s
}

func dot[T Float](x, y []T) T {
	if vectorizable(x, y) {
		return T(dotV(len(x), &as32(x)[0], &as32(y)[0]))
	}
	var s T
	for i, v := range y[:len(x)] {
		s += x[i] * v
	}
	return s
}

// dotDiff is the sum of (x[i]-m)*y[i].
func dotDiff[T Float](x, y []T, m T) T {
	if vectorizable(x, y) {
		v := float32(m)
		return T(dotDiffV(len(x), &as32(x)[0], &as32(y)[0], &v))
	}
	var s T
	for i, v := range y[:len(x)] {
		s += (x[i] - m) * v
	}
	return s
}

func smallest[T Float](x []T) T {
	if simd && vectorizable(x, x) {
		return T(minV(len(x), &as32(x)[0]))
	}
	m := T(math.Inf(1))
	for _, v := range x {
		m = min(m, v)
	}
	return m
}

// Product multiplies all elements, 1 of none.
func Product[T Float](x []T) T {
	if simd && vectorizable(x, x) {
		return T(prodV(len(x), &as32(x)[0]))
	}
	p := T(1)
	for _, v := range x {
		p *= v
	}
	return p
}

func largest[T Float](x []T) T {
	if vectorizable(x, x) {
		return T(maxV(len(x), &as32(x)[0]))
	}
	m := T(math.Inf(-1))
	for _, v := range x {
		m = max(m, v)
	}
	return m
}

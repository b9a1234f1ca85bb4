package vector

import (
	"math"

	"github.com/graft-ml/graft/internal/kernel"
)

// sumBlock is the number of elements of a partial sum. The fixed length makes sums
// independent of the number of threads.
const sumBlock = 1 << 14

// Axpy adds alpha*x to y.
func Axpy[T kernel.Float](p *kernel.Pool, alpha T, x, y []T) {
	x = x[:len(y)]
	p.Range(len(y), kernel.ElementGrain, func(lo, hi int) { AddScaled(alpha, x[lo:hi], y[lo:hi]) })
}

// Sum returns the sum of all elements; 0 if empty.
func Sum[T kernel.Float](p *kernel.Pool, x []T) T {
	if len(x) <= sumBlock { // without a closure: callers loop over blocks
		return BlockSum(x)
	}
	return fold(p, x, func(lo, hi int) T { return BlockSum(x[lo:hi]) })
}

// SumSq returns the sum of the squares of all elements; 0 if empty.
func SumSq[T kernel.Float](p *kernel.Pool, x []T) T {
	if len(x) <= sumBlock { // without a closure: callers loop over blocks
		return BlockSumSq(x)
	}
	return fold(p, x, func(lo, hi int) T { return BlockSumSq(x[lo:hi]) })
}

// Dot returns the dot product of x and y, which have the same length.
func Dot[T kernel.Float](p *kernel.Pool, x, y []T) T {
	y = y[:len(x)]
	return fold(p, x, func(lo, hi int) T { return BlockDot(x[lo:hi], y[lo:hi]) })
}

// Max returns the largest element, NaN if any is NaN, -Inf if empty.
func Max[T kernel.Float](p *kernel.Pool, x []T) T { return Largest(x) }

// fold adds the sums of blocks in order, of so few that their memory is not charged: it may be called outside of a run.
func fold[T kernel.Float](p *kernel.Pool, x []T, block func(lo, hi int) T) T {
	size := max(sumBlock, kernel.CeilDiv(len(x), 1<<16))
	blocks := kernel.CeilDiv(len(x), size)
	if blocks <= 1 {
		return block(0, len(x))
	}
	part := kernel.Borrow[T](blocks)
	defer kernel.GiveBack(part)
	p.Run(blocks, func(_, i int) { (*part)[i] = block(i*size, min(len(x), (i+1)*size)) })
	var s T
	for _, v := range (*part)[:blocks] {
		s += v
	}
	return s
}

// The functions below work on one thread.

func AddScaled[T kernel.Float](alpha T, x, y []T) {
	if kernel.Vectorizable(y, x) {
		a := float32(alpha)
		axpyV(len(y), &kernel.Float32s(y)[0], &kernel.Float32s(x)[0], &a)
		return
	}
	for i, v := range x[:len(y)] {
		y[i] += alpha * v
	}
}

// AddProduct adds a*b to y.
func AddProduct[T kernel.Float](y, a, b []T) {
	a, b = a[:len(y)], b[:len(y)]
	if kernel.Vectorizable(y, a) {
		mulAddVV(len(y), &kernel.Float32s(y)[0], &kernel.Float32s(a)[0], &kernel.Float32s(b)[0])
		return
	}
	for i := range y {
		y[i] += a[i] * b[i]
	}
}

// Affine computes dst = x*a + b; dst may be x.
func Affine[T kernel.Float](dst, x []T, a, b T) {
	x = x[:len(dst)]
	if kernel.Vectorizable(dst, x) {
		s := [2]float32{float32(a), float32(b)}
		affineVS(len(dst), &kernel.Float32s(dst)[0], &kernel.Float32s(x)[0], &s[0])
		return
	}
	for i, v := range x {
		dst[i] = v*a + b
	}
}

// Affine2 computes dst = x*a + y*b + c; dst may be x or y.
func Affine2[T kernel.Float](dst, x, y []T, a, b, c T) {
	x, y = x[:len(dst)], y[:len(dst)]
	if kernel.Vectorizable(dst, x) {
		s := [3]float32{float32(a), float32(b), float32(c)}
		affineVV(len(dst), &kernel.Float32s(dst)[0], &kernel.Float32s(x)[0], &kernel.Float32s(y)[0], &s[0])
		return
	}
	for i, v := range x {
		dst[i] = v*a + y[i]*b + c
	}
}

func BlockSum[T kernel.Float](x []T) T {
	if kernel.Vectorizable(x, x) {
		return T(sumV(len(x), &kernel.Float32s(x)[0]))
	}
	var s T
	for _, v := range x {
		s += v
	}
	return s
}

func BlockSumSq[T kernel.Float](x []T) T {
	if kernel.Vectorizable(x, x) {
		return T(sumSqV(len(x), &kernel.Float32s(x)[0]))
	}
	var s T
	for _, v := range x {
		s += v * v
	}
	return s
}

func BlockSumAbs[T kernel.Float](x []T) T {
	if kernel.Vectorizable(x, x) {
		return T(sumAbsV(len(x), &kernel.Float32s(x)[0]))
	}
	var s T
	for _, v := range x {
		s += max(v, -v)
	}
	return s
}

// BlockSumSqDiff returns the sum of (x[i]-m)².
func BlockSumSqDiff[T kernel.Float](x []T, m T) T {
	if kernel.Vectorizable(x, x) {
		v := float32(m)
		return T(sumSqDiffV(len(x), &kernel.Float32s(x)[0], &v))
	}
	var s T
	for _, v := range x {
		s += (v - m) * (v - m)
	}
	return s
}

func BlockDot[T kernel.Float](x, y []T) T {
	if kernel.Vectorizable(x, y) {
		return T(dotV(len(x), &kernel.Float32s(x)[0], &kernel.Float32s(y)[0]))
	}
	var s T
	for i, v := range y[:len(x)] {
		s += x[i] * v
	}
	return s
}

// BlockDotDiff returns the sum of (x[i]-m)*y[i].
func BlockDotDiff[T kernel.Float](x, y []T, m T) T {
	if kernel.Vectorizable(x, y) {
		v := float32(m)
		return T(dotDiffV(len(x), &kernel.Float32s(x)[0], &kernel.Float32s(y)[0], &v))
	}
	var s T
	for i, v := range y[:len(x)] {
		s += (x[i] - m) * v
	}
	return s
}

func Smallest[T kernel.Float](x []T) T {
	if kernel.SIMD && kernel.Vectorizable(x, x) {
		return T(minV(len(x), &kernel.Float32s(x)[0]))
	}
	m := T(math.Inf(1))
	for _, v := range x {
		m = min(m, v)
	}
	return m
}

// Product returns the product of all elements; 1 if empty.
func Product[T kernel.Float](x []T) T {
	if kernel.SIMD && kernel.Vectorizable(x, x) {
		return T(prodV(len(x), &kernel.Float32s(x)[0]))
	}
	p := T(1)
	for _, v := range x {
		p *= v
	}
	return p
}

func Largest[T kernel.Float](x []T) T {
	if kernel.Vectorizable(x, x) {
		return T(maxV(len(x), &kernel.Float32s(x)[0]))
	}
	m := T(math.Inf(-1))
	for _, v := range x {
		m = max(m, v)
	}
	return m
}

package elementwise

import (
	"math"

	"github.com/graft-ml/graft/internal/kernel"
	"github.com/graft-ml/graft/internal/kernel/vector"
)

// The activations of this file are composed of several functions. Assembly computes them in one pass
// over memory; without it the kernels of these functions are applied block by block.

// Gelu computes dst[i] = x[i]*Φ(x[i]), Φ the normal distribution function, in float32 to 4e-7 of
// the larger of 1 and |x|. dst may be x.
func Gelu[T kernel.Float](p *kernel.Pool, dst, x []T) {
	if len(dst) <= kernel.FunctionGrain {
		geluInto(dst, x[:len(dst)])
		return
	}
	unary(p, dst, x, geluInto)
}

// GeluGrad multiplies dy by the derivative of Gelu at x, in float32 to 1e-6 of dy. dx may be dy.
func GeluGrad[T kernel.Float](p *kernel.Pool, dx, dy, x []T) { unaryGrad(p, dx, dy, x, geluGradInto) }

// GeluTanh computes dst[i] = x[i]*(1+tanh(g))/2 with g = √(2/π)*(x[i]+0.044715*x[i]³), as exactly as
// Gelu. dst may be x.
func GeluTanh[T kernel.Float](p *kernel.Pool, dst, x []T) { unary(p, dst, x, geluTanhInto) }

// GeluTanhGrad multiplies dy by the derivative of GeluTanh at x, in float32 to 4e-6 of dy. dx may be dy.
func GeluTanhGrad[T kernel.Float](p *kernel.Pool, dx, dy, x []T) {
	unaryGrad(p, dx, dy, x, geluTanhGradInto)
}

// Swish computes dst[i] = x[i]/(1+exp(-a*x[i])), in float32 to 4 units in the last place where
// exp(-a*x[i]) is finite and a*x[i] is exact. dst may be x.
func Swish[T kernel.Float](p *kernel.Pool, a T, dst, x []T) {
	if len(dst) <= kernel.FunctionGrain {
		swishInto(a, dst, x[:len(dst)])
		return
	}
	unary(p, dst, x, func(dst, x []T) { swishInto(a, dst, x) })
}

// SwishGrad multiplies dy by the derivative of Swish at x, in float32 to 2e-6 of dy. dx may be dy.
func SwishGrad[T kernel.Float](p *kernel.Pool, a T, dx, dy, x []T) {
	unaryGrad(p, dx, dy, x, func(dx, dy, x []T) { swishGradInto(a, dx, dy, x) })
}

// Mish computes dst[i] = x[i]*tanh(log(1+exp(x[i]))), in float32 to 6 units in the last place where
// exp(x[i]) is a normal number. dst may be x.
func Mish[T kernel.Float](p *kernel.Pool, dst, x []T) { unary(p, dst, x, mishInto) }

// MishGrad multiplies dy by the derivative of Mish at x, in float32 to 4e-6 of dy. dx may be dy.
func MishGrad[T kernel.Float](p *kernel.Pool, dx, dy, x []T) { unaryGrad(p, dx, dy, x, mishGradInto) }

// HardSwish computes dst[i] = x[i]*(x[i]/6 + 1/2 clipped to [0, 1]). dst may be x.
func HardSwish[T kernel.Float](p *kernel.Pool, dst, x []T) { unary(p, dst, x, hardSwishInto) }

// HardSwishGrad multiplies dy by the derivative of HardSwish at x: 0 up to -3, 1 from 3 on. dx may be dy.
func HardSwishGrad[T kernel.Float](p *kernel.Pool, dx, dy, x []T) {
	unaryGrad(p, dx, dy, x, hardSwishGradInto)
}

// unaryGrad runs f on the pool.
func unaryGrad[T kernel.Float](p *kernel.Pool, dx, dy, x []T, f func(dx, dy, x []T)) {
	dy, x = dy[:len(dx)], x[:len(dx)]
	p.Range(len(dx), kernel.FunctionGrain, func(lo, hi int) { f(dx[lo:hi], dy[lo:hi], x[lo:hi]) })
}

// The functions below work on one thread; dst may be x, dx may be dy.

func geluInto[T kernel.Float](dst, x []T) {
	if kernel.SIMD && kernel.Vectorizable(dst, x) {
		geluV(len(dst), &kernel.Float32s(dst)[0], &kernel.Float32s(x)[0])
		return
	}
	inBlocks(dst, x, func(dst, x, t []T) {
		normal(t, x)
		BinaryInto(OpMul, dst, x, t)
	})
}

// normal is t = Φ(x).
func normal[T kernel.Float](t, x []T) {
	BinaryScalarInto(OpMul, t, x, 1/math.Sqrt2)
	erfInto(t, t)
	vector.Affine(t, t, 0.5, 0.5)
}

func geluGradInto[T kernel.Float](dx, dy, x []T) {
	if kernel.SIMD && kernel.Vectorizable(dx, x) {
		geluGradVV(len(dx), &kernel.Float32s(dx)[0], &kernel.Float32s(dy)[0], &kernel.Float32s(x)[0])
		return
	}
	gradInBlocks(dx, dy, x, func(dx, dy, x, t, u []T) {
		BinaryInto(OpMul, u, x, x)
		BinaryScalarInto(OpMul, u, u, -0.5)
		ExpInto(u, u)
		normal(t, x)
		for i, v := range x {
			dx[i] = dy[i] * (t[i] + v*u[i]*T(1/math.Sqrt(2*math.Pi)))
		}
	})
}

const geluCube = 0.044715

var geluSlope = 2 * math.Sqrt(2/math.Pi)

// geluGate is t = sigmoid(2g) of GeluTanh.
func geluGate[T kernel.Float](t, x []T) {
	a, b := T(geluSlope), T(geluSlope*geluCube)
	for i, v := range x {
		t[i] = v * (a + b*v*v)
	}
	sigmoidInto(t, t)
}

func geluTanhInto[T kernel.Float](dst, x []T) {
	if kernel.SIMD && kernel.Vectorizable(dst, x) {
		geluTanhV(len(dst), &kernel.Float32s(dst)[0], &kernel.Float32s(x)[0])
		return
	}
	inBlocks(dst, x, func(dst, x, t []T) {
		geluGate(t, x)
		BinaryInto(OpMul, dst, x, t)
	})
}

func geluTanhGradInto[T kernel.Float](dx, dy, x []T) {
	if kernel.SIMD && kernel.Vectorizable(dx, x) {
		geluTanhGradVV(len(dx), &kernel.Float32s(dx)[0], &kernel.Float32s(dy)[0], &kernel.Float32s(x)[0])
		return
	}
	a, b := T(geluSlope), T(3*geluSlope*geluCube)
	gradInBlocks(dx, dy, x, func(dx, dy, x, t, _ []T) {
		geluGate(t, x)
		for i, v := range x {
			s := t[i]
			dx[i] = dy[i] * s * (1 + v*(a+b*v*v)*(1-s))
		}
	})
}

func swishInto[T kernel.Float](a T, dst, x []T) {
	if kernel.SIMD && kernel.Vectorizable(dst, x) {
		s := float32(a)
		swishVS(len(dst), &kernel.Float32s(dst)[0], &kernel.Float32s(x)[0], &s)
		return
	}
	inBlocks(dst, x, func(dst, x, t []T) {
		BinaryScalarInto(OpMul, t, x, a)
		sigmoidInto(t, t)
		BinaryInto(OpMul, dst, x, t)
	})
}

func swishGradInto[T kernel.Float](a T, dx, dy, x []T) {
	if kernel.SIMD && kernel.Vectorizable(dx, x) {
		s := float32(a)
		swishGradVV(len(dx), &kernel.Float32s(dx)[0], &kernel.Float32s(dy)[0], &kernel.Float32s(x)[0], &s)
		return
	}
	gradInBlocks(dx, dy, x, func(dx, dy, x, t, _ []T) {
		BinaryScalarInto(OpMul, t, x, a)
		sigmoidInto(t, t)
		for i, s := range t {
			dx[i] = dy[i] * s * (1 + a*x[i]*(1-s))
		}
	})
}

// mishRatio is e = exp(x) and t = tanh(log(1+e)) = q/(q+2) with q = e*(e+2). Beyond 20 it is 1.
func mishRatio[T kernel.Float](t, e, x []T) {
	BinaryScalarInto(OpMin, e, x, 20)
	ExpInto(e, e)
	for i, v := range e {
		q := v * (v + 2)
		t[i] = q / (q + 2)
	}
}

func mishInto[T kernel.Float](dst, x []T) {
	if kernel.SIMD && kernel.Vectorizable(dst, x) {
		mishV(len(dst), &kernel.Float32s(dst)[0], &kernel.Float32s(x)[0])
		return
	}
	inBlocks(dst, x, func(dst, x, t []T) {
		mishRatio(t, t, x)
		BinaryInto(OpMul, dst, x, t)
	})
}

func mishGradInto[T kernel.Float](dx, dy, x []T) {
	if kernel.SIMD && kernel.Vectorizable(dx, x) {
		mishGradVV(len(dx), &kernel.Float32s(dx)[0], &kernel.Float32s(dy)[0], &kernel.Float32s(x)[0])
		return
	}
	gradInBlocks(dx, dy, x, func(dx, dy, x, t, e []T) {
		mishRatio(t, e, x)
		for i, r := range t {
			dx[i] = dy[i] * (r + x[i]*(e[i]/(1+e[i]))*(1-r*r))
		}
	})
}

func hardSwishInto[T kernel.Float](dst, x []T) {
	if kernel.SIMD && kernel.Vectorizable(dst, x) {
		hardSwishV(len(dst), &kernel.Float32s(dst)[0], &kernel.Float32s(x)[0])
		return
	}
	inBlocks(dst, x, func(dst, x, t []T) {
		vector.Affine(t, x, 1./6, 0.5)
		BinaryScalarInto(OpMax, t, t, 0)
		BinaryScalarInto(OpMin, t, t, 1)
		BinaryInto(OpMul, dst, x, t)
	})
}

func hardSwishGradInto[T kernel.Float](dx, dy, x []T) {
	if kernel.SIMD && kernel.Vectorizable(dx, x) {
		hardSwishGradVV(len(dx), &kernel.Float32s(dx)[0], &kernel.Float32s(dy)[0], &kernel.Float32s(x)[0])
		return
	}
	for i, v := range x {
		switch {
		case v <= -3:
			dx[i] = 0
		case v >= 3:
			dx[i] = dy[i]
		default:
			dx[i] = dy[i] * (v/3 + 0.5)
		}
	}
}

// smoothBlock is the number of elements of a block, which stays in the L1 cache.
const smoothBlock = 1024

// inBlocks calls f with blocks of dst and x and a buffer of the same length.
func inBlocks[T kernel.Float](dst, x []T, f func(dst, x, t []T)) {
	b := kernel.Borrow[T](smoothBlock)
	defer kernel.GiveBack(b)
	t := *b
	for lo := 0; lo < len(dst); lo += smoothBlock {
		hi := min(len(dst), lo+smoothBlock)
		f(dst[lo:hi], x[lo:hi], t[:hi-lo])
	}
}

// gradInBlocks calls f with blocks of dx, dy and x and two buffers of the same length.
func gradInBlocks[T kernel.Float](dx, dy, x []T, f func(dx, dy, x, t, u []T)) {
	b := kernel.Borrow[T](2 * smoothBlock)
	defer kernel.GiveBack(b)
	t, u := (*b)[:smoothBlock], (*b)[smoothBlock:]
	for lo := 0; lo < len(dx); lo += smoothBlock {
		hi := min(len(dx), lo+smoothBlock)
		f(dx[lo:hi], dy[lo:hi], x[lo:hi], t[:hi-lo], u[:hi-lo])
	}
}

package kernel

import "math"

// The activations of this file are made of several functions. Assembly computes them in one pass
// over memory; elsewhere they are composed of the kernels of those functions, block by block.

// Gelu computes dst[i] = x[i]*Φ(x[i]), Φ the normal distribution function, in float32 to 4e-7 of
// the larger of 1 and |x|. dst may be x.
func Gelu[T Float](p *Pool, dst, x []T) {
	if len(dst) <= functionGrain {
		geluInto(dst, x[:len(dst)])
		return
	}
	unary(p, dst, x, geluInto)
}

// GeluGrad multiplies dy by the derivative of Gelu at x, in float32 to 1e-6 of dy. dx may be dy.
func GeluGrad[T Float](p *Pool, dx, dy, x []T) { unaryGrad(p, dx, dy, x, geluGradInto) }

// GeluTanh computes dst[i] = x[i]*(1+tanh(g))/2 with g = √(2/π)*(x[i]+0.044715*x[i]³), as exactly as
// Gelu. dst may be x.
func GeluTanh[T Float](p *Pool, dst, x []T) { unary(p, dst, x, geluTanhInto) }

// GeluTanhGrad multiplies dy by the derivative of GeluTanh at x, in float32 to 4e-6 of dy. dx may be dy.
func GeluTanhGrad[T Float](p *Pool, dx, dy, x []T) { unaryGrad(p, dx, dy, x, geluTanhGradInto) }

// Swish computes dst[i] = x[i]/(1+exp(-a*x[i])), in float32 to 4 units in the last place where
// exp(-a*x[i]) is finite and a*x[i] is exact. dst may be x.
func Swish[T Float](p *Pool, a T, dst, x []T) {
	if len(dst) <= functionGrain {
		swishInto(a, dst, x[:len(dst)])
		return
	}
	unary(p, dst, x, func(dst, x []T) { swishInto(a, dst, x) })
}

// SwishGrad multiplies dy by the derivative of Swish at x, in float32 to 2e-6 of dy. dx may be dy.
func SwishGrad[T Float](p *Pool, a T, dx, dy, x []T) {
	unaryGrad(p, dx, dy, x, func(dx, dy, x []T) { swishGradInto(a, dx, dy, x) })
}

// Mish computes dst[i] = x[i]*tanh(log(1+exp(x[i]))), in float32 to 6 units in the last place where
// exp(x[i]) is a normal number. dst may be x.
func Mish[T Float](p *Pool, dst, x []T) { unary(p, dst, x, mishInto) }

// MishGrad multiplies dy by the derivative of Mish at x, in float32 to 4e-6 of dy. dx may be dy.
func MishGrad[T Float](p *Pool, dx, dy, x []T) { unaryGrad(p, dx, dy, x, mishGradInto) }

// HardSwish computes dst[i] = x[i]*(x[i]/6 + 1/2 clipped to [0, 1]). dst may be x.
func HardSwish[T Float](p *Pool, dst, x []T) { unary(p, dst, x, hardSwishInto) }

// HardSwishGrad multiplies dy by the derivative of HardSwish at x: 0 up to -3, 1 from 3 on. dx may be dy.
func HardSwishGrad[T Float](p *Pool, dx, dy, x []T) { unaryGrad(p, dx, dy, x, hardSwishGradInto) }

// unaryGrad runs f on the pool.
func unaryGrad[T Float](p *Pool, dx, dy, x []T, f func(dx, dy, x []T)) {
	dy, x = dy[:len(dx)], x[:len(dx)]
	p.Range(len(dx), functionGrain, func(lo, hi int) { f(dx[lo:hi], dy[lo:hi], x[lo:hi]) })
}

// The functions below work on one thread; dst may be x, dx may be dy.

func geluInto[T Float](dst, x []T) {
	if simd && vectorizable(dst, x) {
		geluV(len(dst), &as32(dst)[0], &as32(x)[0])
		return
	}
	inBlocks(dst, x, func(dst, x, t []T) {
		normal(t, x)
		binaryVV(OpMul, dst, x, t)
	})
}

// normal is t = Φ(x).
func normal[T Float](t, x []T) {
	binaryVS(OpMul, t, x, 1/math.Sqrt2)
	erfInto(t, t)
	affine(t, t, 0.5, 0.5)
}

func geluGradInto[T Float](dx, dy, x []T) {
	if simd && vectorizable(dx, x) {
		geluGradVV(len(dx), &as32(dx)[0], &as32(dy)[0], &as32(x)[0])
		return
	}
	gradInBlocks(dx, dy, x, func(dx, dy, x, t, u []T) {
		binaryVV(OpMul, u, x, x)
		binaryVS(OpMul, u, u, -0.5)
		expInto(u, u)
		normal(t, x)
		for i, v := range x {
			dx[i] = dy[i] * (t[i] + v*u[i]*T(1/math.Sqrt(2*math.Pi)))
		}
	})
}

const geluCube = 0.044715

var geluSlope = 2 * math.Sqrt(2/math.Pi)

// geluGate is t = sigmoid(2g) of GeluTanh.
func geluGate[T Float](t, x []T) {
	a, b := T(geluSlope), T(geluSlope*geluCube)
	for i, v := range x {
		t[i] = v * (a + b*v*v)
	}
	sigmoidInto(t, t)
}

func geluTanhInto[T Float](dst, x []T) {
	if simd && vectorizable(dst, x) {
		geluTanhV(len(dst), &as32(dst)[0], &as32(x)[0])
		return
	}
	inBlocks(dst, x, func(dst, x, t []T) {
		geluGate(t, x)
		binaryVV(OpMul, dst, x, t)
	})
}

func geluTanhGradInto[T Float](dx, dy, x []T) {
	if simd && vectorizable(dx, x) {
		geluTanhGradVV(len(dx), &as32(dx)[0], &as32(dy)[0], &as32(x)[0])
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

func swishInto[T Float](a T, dst, x []T) {
	if simd && vectorizable(dst, x) {
		s := float32(a)
		swishVS(len(dst), &as32(dst)[0], &as32(x)[0], &s)
		return
	}
	inBlocks(dst, x, func(dst, x, t []T) {
		binaryVS(OpMul, t, x, a)
		sigmoidInto(t, t)
		binaryVV(OpMul, dst, x, t)
	})
}

func swishGradInto[T Float](a T, dx, dy, x []T) {
	if simd && vectorizable(dx, x) {
		s := float32(a)
		swishGradVV(len(dx), &as32(dx)[0], &as32(dy)[0], &as32(x)[0], &s)
		return
	}
	gradInBlocks(dx, dy, x, func(dx, dy, x, t, _ []T) {
		binaryVS(OpMul, t, x, a)
		sigmoidInto(t, t)
		for i, s := range t {
			dx[i] = dy[i] * s * (1 + a*x[i]*(1-s))
		}
	})
}

// mishRatio is e = exp(x) and t = tanh(log(1+e)) = q/(q+2) with q = e*(e+2). Beyond 20 it is 1.
func mishRatio[T Float](t, e, x []T) {
	binaryVS(OpMin, e, x, 20)
	expInto(e, e)
	for i, v := range e {
		q := v * (v + 2)
		t[i] = q / (q + 2)
	}
}

func mishInto[T Float](dst, x []T) {
	if simd && vectorizable(dst, x) {
		mishV(len(dst), &as32(dst)[0], &as32(x)[0])
		return
	}
	inBlocks(dst, x, func(dst, x, t []T) {
		mishRatio(t, t, x)
		binaryVV(OpMul, dst, x, t)
	})
}

func mishGradInto[T Float](dx, dy, x []T) {
	if simd && vectorizable(dx, x) {
		mishGradVV(len(dx), &as32(dx)[0], &as32(dy)[0], &as32(x)[0])
		return
	}
	gradInBlocks(dx, dy, x, func(dx, dy, x, t, e []T) {
		mishRatio(t, e, x)
		for i, r := range t {
			dx[i] = dy[i] * (r + x[i]*(e[i]/(1+e[i]))*(1-r*r))
		}
	})
}

func hardSwishInto[T Float](dst, x []T) {
	if simd && vectorizable(dst, x) {
		hardSwishV(len(dst), &as32(dst)[0], &as32(x)[0])
		return
	}
	inBlocks(dst, x, func(dst, x, t []T) {
		affine(t, x, 1./6, 0.5)
		binaryVS(OpMax, t, t, 0)
		binaryVS(OpMin, t, t, 1)
		binaryVV(OpMul, dst, x, t)
	})
}

func hardSwishGradInto[T Float](dx, dy, x []T) {
	if simd && vectorizable(dx, x) {
		hardSwishGradVV(len(dx), &as32(dx)[0], &as32(dy)[0], &as32(x)[0])
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

// smoothBlock is the number of elements of a block: few enough to stay in the first cache level.
const smoothBlock = 1024

// inBlocks calls f with pieces of dst and x and a buffer as long.
func inBlocks[T Float](dst, x []T, f func(dst, x, t []T)) {
	b := Borrow[T](smoothBlock)
	defer GiveBack(b)
	t := *b
	for lo := 0; lo < len(dst); lo += smoothBlock {
		hi := min(len(dst), lo+smoothBlock)
		f(dst[lo:hi], x[lo:hi], t[:hi-lo])
	}
}

// gradInBlocks calls f with pieces of dx, dy and x and two buffers as long.
func gradInBlocks[T Float](dx, dy, x []T, f func(dx, dy, x, t, u []T)) {
	b := Borrow[T](2 * smoothBlock)
	defer GiveBack(b)
	t, u := (*b)[:smoothBlock], (*b)[smoothBlock:]
	for lo := 0; lo < len(dx); lo += smoothBlock {
		hi := min(len(dx), lo+smoothBlock)
		f(dx[lo:hi], dy[lo:hi], x[lo:hi], t[:hi-lo], u[:hi-lo])
	}
}

package elementwise

import (
	"math"

	"github.com/graft-ml/graft/internal/kernel"
)

// The activations of this file are linear for positive x and another function elsewhere; Softplus
// is a smooth variant. Their gradients depend on the result y, which has the sign of x.

// LeakyRelu computes dst[i] = x[i], or alpha*x[i] below 0. dst may be x.
func LeakyRelu[T kernel.Float](p *kernel.Pool, alpha T, dst, x []T) {
	if len(dst) <= kernel.FunctionGrain {
		leakyInto(alpha, dst, x[:len(dst)])
		return
	}
	unary(p, dst, x, func(dst, x []T) { leakyInto(alpha, dst, x) })
}

// LeakyReluGrad multiplies dy by the derivative of LeakyRelu, alpha where y is not positive. y is
// LeakyRelu's input, or where alpha is not negative its output. dx may be dy.
func LeakyReluGrad[T kernel.Float](p *kernel.Pool, alpha T, dx, dy, y []T) {
	if len(dx) <= kernel.FunctionGrain {
		leakyGradInto(alpha, dx, dy[:len(dx)], y[:len(dx)])
		return
	}
	unaryGrad(p, dx, dy, y, func(dx, dy, y []T) { leakyGradInto(alpha, dx, dy, y) })
}

// Exponential is the function Gamma*x where x is positive and Gamma*Alpha*(exp(Inner*x) - 1)
// elsewhere: Elu has Gamma and Inner 1, Selu has Inner 1, Celu has Gamma 1 and Inner 1/Alpha.
type Exponential[T kernel.Float] struct{ Alpha, Gamma, Inner T }

// Elu computes dst[i] = e(x[i]), in float32 to 3 units in the last place. dst may be x.
func Elu[T kernel.Float](p *kernel.Pool, e Exponential[T], dst, x []T) {
	unary(p, dst, x, func(dst, x []T) { e.into(dst, x) })
}

// EluGrad multiplies dy by the derivative of e where its value is y; Alpha and Gamma are not
// negative. dx may be dy.
func EluGrad[T kernel.Float](p *kernel.Pool, e Exponential[T], dx, dy, y []T) {
	unaryGrad(p, dx, dy, y, func(dx, dy, y []T) {
		left := e.Gamma * e.Alpha * e.Inner // the slope at 0 from the left
		if kernel.SIMD && kernel.Vectorizable(dx, y) {
			s := [3]float32{float32(e.Gamma), float32(left), float32(e.Inner)}
			eluGradVV(len(dx), &kernel.Float32s(dx)[0], &kernel.Float32s(dy)[0], &kernel.Float32s(y)[0], &s[0])
			return
		}
		for i, v := range y {
			if v > 0 {
				dx[i] = dy[i] * e.Gamma
			} else {
				dx[i] = dy[i] * (left + e.Inner*v)
			}
		}
	})
}

// Softplus computes dst[i] = ln(1+exp(x[i])), in float32 to 4 units in the last place. dst may be x.
func Softplus[T kernel.Float](p *kernel.Pool, dst, x []T) { unary(p, dst, x, softplusInto) }

// SoftplusGrad multiplies dy by the derivative of Softplus, 1-exp(-y) where its value is y. dx may be dy.
func SoftplusGrad[T kernel.Float](p *kernel.Pool, dx, dy, y []T) {
	unaryGrad(p, dx, dy, y, softplusGradInto)
}

// The functions below work on one thread; dst may be x, dx may be dy.

func leakyInto[T kernel.Float](alpha T, dst, x []T) {
	if kernel.SIMD && kernel.Vectorizable(dst, x) {
		s := float32(alpha)
		leakyVS(len(dst), &kernel.Float32s(dst)[0], &kernel.Float32s(x)[0], &s)
		return
	}
	for i, v := range x {
		if v < 0 {
			v *= alpha
		}
		dst[i] = v
	}
}

func leakyGradInto[T kernel.Float](alpha T, dx, dy, y []T) {
	if kernel.SIMD && kernel.Vectorizable(dx, y) {
		s := float32(alpha)
		leakyGradVV(len(dx), &kernel.Float32s(dx)[0], &kernel.Float32s(dy)[0], &kernel.Float32s(y)[0], &s)
		return
	}
	for i, v := range y {
		if dx[i] = dy[i]; !(v > 0) {
			dx[i] *= alpha
		}
	}
}

func (e Exponential[T]) into(dst, x []T) {
	if kernel.SIMD && kernel.Vectorizable(dst, x) {
		s := [3]float32{float32(e.Gamma), float32(e.Gamma * e.Alpha), float32(e.Inner)}
		eluV(len(dst), &kernel.Float32s(dst)[0], &kernel.Float32s(x)[0], &s[0])
		return
	}
	for i, v := range x {
		if v > 0 {
			dst[i] = e.Gamma * v
		} else {
			dst[i] = e.Gamma * e.Alpha * T(math.Expm1(float64(v*e.Inner)))
		}
	}
}

func softplusInto[T kernel.Float](dst, x []T) {
	if kernel.SIMD && kernel.Vectorizable(dst, x) {
		softplusV(len(dst), &kernel.Float32s(dst)[0], &kernel.Float32s(x)[0])
		return
	}
	inBlocks(dst, x, func(dst, x, t []T) {
		for i, v := range x {
			t[i] = min(v, -v)
		}
		ExpInto(t, t)
		for i, v := range x {
			dst[i] = max(v, 0) + T(math.Log1p(float64(t[i])))
		}
	})
}

func softplusGradInto[T kernel.Float](dx, dy, y []T) {
	if kernel.SIMD && kernel.Vectorizable(dx, y) {
		softplusGradVV(len(dx), &kernel.Float32s(dx)[0], &kernel.Float32s(dy)[0], &kernel.Float32s(y)[0])
		return
	}
	for i, v := range y {
		dx[i] = -dy[i] * T(math.Expm1(-float64(v)))
	}
}

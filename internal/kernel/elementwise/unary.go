package elementwise

import (
	"math"

	"github.com/graft-ml/graft/internal/kernel"
)

// Relu computes dst[i] = x[i], or 0 where that is below 0; NaN stays. dst may be x.
func Relu[T kernel.Float](p *kernel.Pool, dst, x []T) {
	x = x[:len(dst)]
	p.Range(len(dst), kernel.ElementGrain, func(lo, hi int) { ReluInto(dst[lo:hi], x[lo:hi]) })
}

// Exp computes dst[i] = exp(x[i]), to 2 units in the last place in float32. dst may be x.
func Exp[T kernel.Float](p *kernel.Pool, dst, x []T) {
	if len(dst) <= kernel.FunctionGrain {
		ExpInto(dst, x[:len(dst)])
		return
	}
	unary(p, dst, x, ExpInto)
}

// Tanh computes dst[i] = tanh(x[i]), to 3 units in the last place in float32. dst may be x.
func Tanh[T kernel.Float](p *kernel.Pool, dst, x []T) {
	if len(dst) <= kernel.FunctionGrain {
		tanhInto(dst, x[:len(dst)])
		return
	}
	unary(p, dst, x, tanhInto)
}

// Sigmoid computes dst[i] = 1/(1+exp(-x[i])), to 4 units in the last place in
// float32 where the result is a normal number. dst may be x.
func Sigmoid[T kernel.Float](p *kernel.Pool, dst, x []T) {
	if len(dst) <= kernel.FunctionGrain {
		sigmoidInto(dst, x[:len(dst)])
		return
	}
	unary(p, dst, x, sigmoidInto)
}

// Erf computes the error function of each element, to 3 units in the last place in
// float32. dst may be x.
func Erf[T kernel.Float](p *kernel.Pool, dst, x []T) {
	if len(dst) <= kernel.FunctionGrain {
		erfInto(dst, x[:len(dst)])
		return
	}
	unary(p, dst, x, erfInto)
}

// Log computes dst[i] = ln(x[i]), to 2 units in the last place in float32: -Inf for
// 0, NaN for negative numbers. dst may be x.
func Log[T kernel.Float](p *kernel.Pool, dst, x []T) {
	if len(dst) <= kernel.FunctionGrain {
		LogInto(dst, x[:len(dst)])
		return
	}
	unary(p, dst, x, LogInto)
}

// Sqrt computes dst[i] = √x[i], correctly rounded. dst may be x.
func Sqrt[T kernel.Float](p *kernel.Pool, dst, x []T) {
	if len(dst) <= kernel.FunctionGrain {
		sqrtInto(dst, x[:len(dst)])
		return
	}
	unary(p, dst, x, sqrtInto)
}

// unary runs f on the pool. It is not called for short slices: a closure is an allocation, and
// callers loop over blocks.
func unary[T kernel.Float](p *kernel.Pool, dst, x []T, f func(dst, x []T)) {
	p.Range(len(dst), kernel.FunctionGrain, func(lo, hi int) { f(dst[lo:hi], x[lo:hi]) })
}

// Map computes dst[i] = f(x[i]) on the pool, for functions without a kernel.
func Map[T, U any](p *kernel.Pool, dst []U, x []T, f func(T) U) {
	x = x[:len(dst)]
	p.Range(len(dst), kernel.FunctionGrain, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			dst[i] = f(x[i])
		}
	})
}

// Fill sets every element of dst to v.
func Fill[E any](p *kernel.Pool, dst []E, v E) {
	if p == nil { // avoids allocating a closure for each of many small fills
		for i := range dst {
			dst[i] = v
		}
		return
	}
	p.Range(len(dst), 1<<16, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			dst[i] = v
		}
	})
}

// The functions below work on one thread; dst may be x.

func ReluInto[T kernel.Float](dst, x []T) {
	if kernel.Vectorizable(dst, x) {
		reluV(len(dst), &kernel.Float32s(dst)[0], &kernel.Float32s(x)[0])
		return
	}
	for i, v := range x[:len(dst)] {
		if v < 0 {
			v = 0
		}
		dst[i] = v
	}
}

func ExpInto[T kernel.Float](dst, x []T) {
	if kernel.Vectorizable(dst, x) {
		expV(len(dst), &kernel.Float32s(dst)[0], &kernel.Float32s(x)[0])
		return
	}
	for i, v := range x[:len(dst)] {
		dst[i] = T(math.Exp(float64(v)))
	}
}

// ExpSubInto computes exp(x[i] - s).
func ExpSubInto[T kernel.Float](dst, x []T, s T) {
	if kernel.Vectorizable(dst, x) {
		v := float32(s)
		expSubVS(len(dst), &kernel.Float32s(dst)[0], &kernel.Float32s(x)[0], &v)
		return
	}
	for i, v := range x[:len(dst)] {
		dst[i] = T(math.Exp(float64(v - s)))
	}
}

func tanhInto[T kernel.Float](dst, x []T) {
	if kernel.Vectorizable(dst, x) {
		tanhV(len(dst), &kernel.Float32s(dst)[0], &kernel.Float32s(x)[0])
		return
	}
	for i, v := range x[:len(dst)] {
		dst[i] = T(math.Tanh(float64(v)))
	}
}

func sigmoidInto[T kernel.Float](dst, x []T) {
	if kernel.Vectorizable(dst, x) {
		sigmoidV(len(dst), &kernel.Float32s(dst)[0], &kernel.Float32s(x)[0])
		return
	}
	for i, v := range x[:len(dst)] {
		dst[i] = T(1 / (1 + math.Exp(-float64(v))))
	}
}

func erfInto[T kernel.Float](dst, x []T) {
	if kernel.Vectorizable(dst, x) {
		erfV(len(dst), &kernel.Float32s(dst)[0], &kernel.Float32s(x)[0])
		return
	}
	for i, v := range x[:len(dst)] {
		dst[i] = T(math.Erf(float64(v)))
	}
}

func LogInto[T kernel.Float](dst, x []T) {
	if kernel.Vectorizable(dst, x) {
		logV(len(dst), &kernel.Float32s(dst)[0], &kernel.Float32s(x)[0])
		return
	}
	for i, v := range x[:len(dst)] {
		dst[i] = T(math.Log(float64(v)))
	}
}

func sqrtInto[T kernel.Float](dst, x []T) {
	if kernel.Vectorizable(dst, x) {
		sqrtV(len(dst), &kernel.Float32s(dst)[0], &kernel.Float32s(x)[0])
		return
	}
	for i, v := range x[:len(dst)] {
		dst[i] = T(math.Sqrt(float64(v)))
	}
}

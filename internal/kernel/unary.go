package kernel

import "math"

// Relu computes dst[i] = x[i], or 0 where that is below 0; NaN stays. dst may be x.
func Relu[T Float](p *Pool, dst, x []T) {
	x = x[:len(dst)]
	p.Range(len(dst), elementGrain, func(lo, hi int) { reluInto(dst[lo:hi], x[lo:hi]) })
}

// Exp computes dst[i] = exp(x[i]), to 2 units in the last place in float32. dst may be x.
func Exp[T Float](p *Pool, dst, x []T) {
	if len(dst) <= functionGrain {
		expInto(dst, x[:len(dst)])
		return
	}
	unary(p, dst, x, expInto)
}

// Tanh computes dst[i] = tanh(x[i]), to 3 units in the last place in float32. dst may be x.
func Tanh[T Float](p *Pool, dst, x []T) {
	if len(dst) <= functionGrain {
		tanhInto(dst, x[:len(dst)])
		return
	}
	unary(p, dst, x, tanhInto)
}

// Sigmoid computes dst[i] = 1/(1+exp(-x[i])), to 4 units in the last place in
// float32 where the result is a normal number. dst may be x.
func Sigmoid[T Float](p *Pool, dst, x []T) {
	if len(dst) <= functionGrain {
		sigmoidInto(dst, x[:len(dst)])
		return
	}
	unary(p, dst, x, sigmoidInto)
}

// Erf computes the error function of each element, to 3 units in the last place in
// float32. dst may be x.
func Erf[T Float](p *Pool, dst, x []T) {
	if len(dst) <= functionGrain {
		erfInto(dst, x[:len(dst)])
		return
	}
	unary(p, dst, x, erfInto)
}

// Log computes dst[i] = ln(x[i]), to 2 units in the last place in float32: -Inf of
// 0, NaN of what is below. dst may be x.
func Log[T Float](p *Pool, dst, x []T) {
	if len(dst) <= functionGrain {
		logInto(dst, x[:len(dst)])
		return
	}
	unary(p, dst, x, logInto)
}

// Sqrt computes dst[i] = √x[i], correctly rounded. dst may be x.
func Sqrt[T Float](p *Pool, dst, x []T) {
	if len(dst) <= functionGrain {
		sqrtInto(dst, x[:len(dst)])
		return
	}
	unary(p, dst, x, sqrtInto)
}

// unary runs f on the pool. Short slices do not come here: a closure is an allocation, and callers
// loop over blocks.
func unary[T Float](p *Pool, dst, x []T, f func(dst, x []T)) {
	p.Range(len(dst), functionGrain, func(lo, hi int) { f(dst[lo:hi], x[lo:hi]) })
}

// Map computes dst[i] = f(x[i]) on the pool, for functions without a kernel.
func Map[T, U any](p *Pool, dst []U, x []T, f func(T) U) {
	x = x[:len(dst)]
	p.Range(len(dst), functionGrain, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			dst[i] = f(x[i])
		}
	})
}

// Fill sets every element of dst to v.
func Fill[E any](p *Pool, dst []E, v E) {
	if p == nil { // a function value for each of many small fills would be much garbage
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

func reluInto[T Float](dst, x []T) {
	if vectorizable(dst, x) {
		reluV(len(dst), &as32(dst)[0], &as32(x)[0])
		return
	}
	for i, v := range x[:len(dst)] {
		if v < 0 {
			v = 0
		}
		dst[i] = v
	}
}

func expInto[T Float](dst, x []T) {
	if vectorizable(dst, x) {
		expV(len(dst), &as32(dst)[0], &as32(x)[0])
		return
	}
	for i, v := range x[:len(dst)] {
		dst[i] = T(math.Exp(float64(v)))
	}
}

// expSubInto computes exp(x[i] - s).
func expSubInto[T Float](dst, x []T, s T) {
	if vectorizable(dst, x) {
		v := float32(s)
		expSubVS(len(dst), &as32(dst)[0], &as32(x)[0], &v)
		return
	}
	for i, v := range x[:len(dst)] {
		dst[i] = T(math.Exp(float64(v - s)))
	}
}

func tanhInto[T Float](dst, x []T) {
	if vectorizable(dst, x) {
		tanhV(len(dst), &as32(dst)[0], &as32(x)[0])
		return
	}
	for i, v := range x[:len(dst)] {
		dst[i] = T(math.Tanh(float64(v)))
	}
}

func sigmoidInto[T Float](dst, x []T) {
	if vectorizable(dst, x) {
		sigmoidV(len(dst), &as32(dst)[0], &as32(x)[0])
		return
	}
	for i, v := range x[:len(dst)] {
		dst[i] = T(1 / (1 + math.Exp(-float64(v))))
	}
}

func erfInto[T Float](dst, x []T) {
	if vectorizable(dst, x) {
		erfV(len(dst), &as32(dst)[0], &as32(x)[0])
		return
	}
	for i, v := range x[:len(dst)] {
		dst[i] = T(math.Erf(float64(v)))
	}
}

func logInto[T Float](dst, x []T) {
	if vectorizable(dst, x) {
		logV(len(dst), &as32(dst)[0], &as32(x)[0])
		return
	}
	for i, v := range x[:len(dst)] {
		dst[i] = T(math.Log(float64(v)))
	}
}

func sqrtInto[T Float](dst, x []T) {
	if vectorizable(dst, x) {
		sqrtV(len(dst), &as32(dst)[0], &as32(x)[0])
		return
	}
	for i, v := range x[:len(dst)] {
		dst[i] = T(math.Sqrt(float64(v)))
	}
}

package kernel

import "math"

// Abs computes dst[i] = |x[i]|. dst may be x.
func Abs[T Float](p *Pool, dst, x []T) { vectors(p, dst, x, absV, math.Abs) }

// Floor rounds down. dst may be x.
func Floor[T Float](p *Pool, dst, x []T) { vectors(p, dst, x, floorV, math.Floor) }

// Ceil rounds up. dst may be x.
func Ceil[T Float](p *Pool, dst, x []T) { vectors(p, dst, x, ceilV, math.Ceil) }

// Round rounds to the nearest integer, halves to the even one. dst may be x.
func Round[T Float](p *Pool, dst, x []T) { vectors(p, dst, x, roundV, math.RoundToEven) }

// Sign computes 1 where x[i] is positive, -1 where it is negative, else x[i]: 0 or NaN. dst may be x.
func Sign[T Float](p *Pool, dst, x []T) { vectors(p, dst, x, signV, sign) }

// Sin computes dst[i] = sin(x[i]), in float32 to 1e-7. dst may be x.
func Sin[T Float](p *Pool, dst, x []T) {
	if len(dst) <= functionGrain {
		sinInto(dst, x[:len(dst)])
		return
	}
	unary(p, dst, x, sinInto)
}

// Cos computes dst[i] = cos(x[i]), in float32 to 1e-7. dst may be x.
func Cos[T Float](p *Pool, dst, x []T) {
	if len(dst) <= functionGrain {
		cosInto(dst, x[:len(dst)])
		return
	}
	unary(p, dst, x, cosInto)
}

// Atan computes dst[i] = atan(x[i]), in float32 to 3 units in the last place. dst may be x.
func Atan[T Float](p *Pool, dst, x []T) { vectors(p, dst, x, atanV, math.Atan) }

// EqualMask computes 1 where a[i] = b[i], else 0. dst may be a or b.
func EqualMask[T Float](dst, a, b []T) {
	a, b = a[:len(dst)], b[:len(dst)]
	if simd && vectorizable(dst, a) {
		equalVV(len(dst), &as32(dst)[0], &as32(a)[0], &as32(b)[0])
		return
	}
	for i, v := range a {
		equal := v == b[i]
		if dst[i] = 0; equal {
			dst[i] = 1
		}
	}
}

// vectors applies the assembly, or f to each element.
func vectors[T Float](p *Pool, dst, x []T, assembly func(n int, dst, a *float32), f func(float64) float64) {
	if len(dst) <= functionGrain {
		vectorsInto(dst, x[:len(dst)], assembly, f)
		return
	}
	unary(p, dst, x, func(dst, x []T) { vectorsInto(dst, x, assembly, f) })
}

func vectorsInto[T Float](dst, x []T, assembly func(n int, dst, a *float32), f func(float64) float64) {
	if simd && vectorizable(dst, x) {
		assembly(len(dst), &as32(dst)[0], &as32(x)[0])
		return
	}
	for i, v := range x {
		dst[i] = T(f(float64(v)))
	}
}

func sign(x float64) float64 {
	switch {
	case x > 0:
		return 1
	case x < 0:
		return -1
	}
	return x
}

// The functions below work on one thread; dst may be x.

func sinInto[T Float](dst, x []T) { waveInto(dst, x, sinV, math.Sin) }

func cosInto[T Float](dst, x []T) { waveInto(dst, x, cosV, math.Cos) }

// waveInto applies the assembly to blocks whose numbers are small enough for it.
func waveInto[T Float](dst, x []T, assembly func(n int, dst, a *float32), f func(float64) float64) {
	const most = 1 << 22
	for lo := 0; lo < len(dst); lo += smoothBlock {
		d, v := dst[lo:min(len(dst), lo+smoothBlock)], x[lo:min(len(x), lo+smoothBlock)]
		if simd && vectorizable(d, v) && sumAbs(v) <= most {
			assembly(len(d), &as32(d)[0], &as32(v)[0])
			continue
		}
		for i, v := range v {
			d[i] = T(f(float64(v)))
		}
	}
}

package elementwise

import (
	"math"

	"github.com/graft-ml/graft/internal/kernel"
	"github.com/graft-ml/graft/internal/kernel/vector"
)

// Abs computes dst[i] = |x[i]|. dst may be x.
func Abs[T kernel.Float](p *kernel.Pool, dst, x []T) { vectors(p, dst, x, absV, math.Abs) }

// Floor rounds down. dst may be x.
func Floor[T kernel.Float](p *kernel.Pool, dst, x []T) { vectors(p, dst, x, floorV, math.Floor) }

// Ceil rounds up. dst may be x.
func Ceil[T kernel.Float](p *kernel.Pool, dst, x []T) { vectors(p, dst, x, ceilV, math.Ceil) }

// Round rounds to the nearest integer, halves to the even one. dst may be x.
func Round[T kernel.Float](p *kernel.Pool, dst, x []T) { vectors(p, dst, x, roundV, math.RoundToEven) }

// Sign computes 1 where x[i] is positive, -1 where it is negative, else x[i]: 0 or NaN. dst may be x.
func Sign[T kernel.Float](p *kernel.Pool, dst, x []T) { vectors(p, dst, x, signV, sign) }

// Sin computes dst[i] = sin(x[i]), in float32 to 1e-7. dst may be x.
func Sin[T kernel.Float](p *kernel.Pool, dst, x []T) {
	if len(dst) <= kernel.FunctionGrain {
		sinInto(dst, x[:len(dst)])
		return
	}
	unary(p, dst, x, sinInto)
}

// Cos computes dst[i] = cos(x[i]), in float32 to 1e-7. dst may be x.
func Cos[T kernel.Float](p *kernel.Pool, dst, x []T) {
	if len(dst) <= kernel.FunctionGrain {
		cosInto(dst, x[:len(dst)])
		return
	}
	unary(p, dst, x, cosInto)
}

// Atan computes dst[i] = atan(x[i]), in float32 to 3 units in the last place. dst may be x.
func Atan[T kernel.Float](p *kernel.Pool, dst, x []T) { vectors(p, dst, x, atanV, math.Atan) }

// EqualMask computes 1 where a[i] = b[i], else 0. dst may be a or b.
func EqualMask[T kernel.Float](dst, a, b []T) {
	a, b = a[:len(dst)], b[:len(dst)]
	if kernel.SIMD && kernel.Vectorizable(dst, a) {
		equalVV(len(dst), &kernel.Float32s(dst)[0], &kernel.Float32s(a)[0], &kernel.Float32s(b)[0])
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
func vectors[T kernel.Float](p *kernel.Pool, dst, x []T, assembly func(n int, dst, a *float32), f func(float64) float64) {
	if len(dst) <= kernel.FunctionGrain {
		vectorsInto(dst, x[:len(dst)], assembly, f)
		return
	}
	unary(p, dst, x, func(dst, x []T) { vectorsInto(dst, x, assembly, f) })
}

func vectorsInto[T kernel.Float](dst, x []T, assembly func(n int, dst, a *float32), f func(float64) float64) {
	if kernel.SIMD && kernel.Vectorizable(dst, x) {
		assembly(len(dst), &kernel.Float32s(dst)[0], &kernel.Float32s(x)[0])
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

func sinInto[T kernel.Float](dst, x []T) { waveInto(dst, x, sinV, math.Sin) }

func cosInto[T kernel.Float](dst, x []T) { waveInto(dst, x, cosV, math.Cos) }

// waveInto applies the assembly to blocks whose numbers are small enough for it.
func waveInto[T kernel.Float](dst, x []T, assembly func(n int, dst, a *float32), f func(float64) float64) {
	const most = 1 << 22
	for lo := 0; lo < len(dst); lo += smoothBlock {
		d, v := dst[lo:min(len(dst), lo+smoothBlock)], x[lo:min(len(x), lo+smoothBlock)]
		if kernel.SIMD && kernel.Vectorizable(d, v) && vector.BlockSumAbs(v) <= most {
			assembly(len(d), &kernel.Float32s(d)[0], &kernel.Float32s(v)[0])
			continue
		}
		for i, v := range v {
			d[i] = T(f(float64(v)))
		}
	}
}

package elementwise

import (
	"math"

	"github.com/graft-ml/graft/internal/kernel"
	"github.com/graft-ml/graft/internal/kernel/vector"
)

// Pow computes dst[i] = a[i] to the power of b[i] with the special cases of math.Pow, in float32 to 1 unit in the last
// place. dst may be a or b.
func Pow[T kernel.Float](p *kernel.Pool, dst, a, b []T) {
	a, b = a[:len(dst)], b[:len(dst)]
	p.Range(len(dst), kernel.FunctionGrain, func(lo, hi int) { powInto(dst[lo:hi], a[lo:hi], b[lo:hi]) })
}

// PowScalar computes dst[i] = a[i] to the power of b, as exactly as Pow. dst may be a.
func PowScalar[T kernel.Float](p *kernel.Pool, dst, a []T, b T) {
	unary(p, dst, a, func(dst, a []T) { powScalarInto(dst, a, b) })
}

// Fmod computes the remainder of a[i]/b[i], which has the sign of a[i], exactly. dst may be a or b.
func Fmod[T kernel.Float](p *kernel.Pool, dst, a, b []T) {
	a, b = a[:len(dst)], b[:len(dst)]
	p.Range(len(dst), kernel.FunctionGrain, func(lo, hi int) { fmodInto(dst[lo:hi], a[lo:hi], b[lo:hi]) })
}

// FmodScalar computes the remainder of a[i]/b as Fmod does. dst may be a.
func FmodScalar[T kernel.Float](p *kernel.Pool, dst, a []T, b T) {
	unary(p, dst, a, func(dst, a []T) { fmodScalarInto(dst, a, b) })
}

// The functions below work on one thread; dst may be an operand.

func powInto[T kernel.Float](dst, a, b []T) {
	if kernel.SIMD && kernel.Vectorizable(dst, a) {
		powVV(len(dst), &kernel.Float32s(dst)[0], &kernel.Float32s(a)[0], &kernel.Float32s(b)[0])
		return
	}
	for i, v := range a {
		dst[i] = T(math.Pow(float64(v), float64(b[i])))
	}
}

func powScalarInto[T kernel.Float](dst, a []T, b T) {
	if kernel.SIMD && kernel.Vectorizable(dst, a) {
		s := float32(b)
		powVS(len(dst), &kernel.Float32s(dst)[0], &kernel.Float32s(a)[0], &s)
		return
	}
	quarters := int(math.Abs(float64(4 * b)))
	if quarters > 16 || T(quarters) != max(4*b, -4*b) {
		for i, v := range a {
			dst[i] = T(math.Pow(float64(v), float64(b)))
		}
		return
	}
	for i, v := range a {
		dst[i] = quarterPower(v, b, quarters)
	}
}

// quarterPower is v to the power of b, a multiple of 1/4 between -4 and 4: of quarters/4 or its negative.
func quarterPower[T kernel.Float](v, b T, quarters int) T {
	if !(v > 0) { // roots follow other rules there
		return T(math.Pow(float64(v), float64(b)))
	}
	p := T(1)
	for range quarters / 4 {
		p *= v
	}
	root := T(math.Sqrt(float64(v)))
	if quarters&2 != 0 {
		p *= root
	}
	if quarters&1 != 0 {
		p *= T(math.Sqrt(float64(root)))
	}
	if b < 0 {
		p = 1 / p
	}
	return p
}

func fmodInto[T kernel.Float](dst, a, b []T) {
	if kernel.SIMD && kernel.Vectorizable(dst, a) {
		remaindersInto(dst, a, func(t []T, lo int) {
			fmodVV(len(t), &kernel.Float32s(t)[0], &kernel.Float32s(a)[lo], &kernel.Float32s(b)[lo])
		}, func(i int) T { return b[i] })
		return
	}
	for i, v := range a {
		dst[i] = T(math.Mod(float64(v), float64(b[i])))
	}
}

func fmodScalarInto[T kernel.Float](dst, a []T, b T) {
	if kernel.SIMD && kernel.Vectorizable(dst, a) {
		s := float32(b)
		remaindersInto(dst, a, func(t []T, lo int) {
			fmodVS(len(t), &kernel.Float32s(t)[0], &kernel.Float32s(a)[lo], &s)
		}, func(int) T { return b })
		return
	}
	for i, v := range a {
		dst[i] = T(math.Mod(float64(v), float64(b)))
	}
}

// remaindersInto takes remainders of blocks from the assembly, which leaves NaN where it does not apply.
func remaindersInto[T kernel.Float](dst, a []T, assembly func(t []T, lo int), b func(i int) T) {
	buffer := kernel.Borrow[T](smoothBlock)
	defer kernel.GiveBack(buffer)
	for lo := 0; lo < len(dst); lo += smoothBlock {
		t := (*buffer)[:min(len(dst)-lo, smoothBlock)]
		assembly(t, lo)
		if s := vector.BlockSum(t); s != s {
			for i, v := range t {
				if v != v {
					t[i] = T(math.Mod(float64(a[lo+i]), float64(b(lo+i))))
				}
			}
		}
		copy(dst[lo:], t)
	}
}

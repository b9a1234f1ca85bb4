package elementwise

import (
	"unsafe"

	"github.com/graft-ml/graft/internal/kernel"
	"github.com/graft-ml/graft/nn/dtype"
)

// The functions of this file convert element types with the same bits as dtype.Convert.

// Float16ToFloat32 computes dst[i] = src[i], exactly.
func Float16ToFloat32(p *kernel.Pool, dst []float32, src []dtype.F16) {
	castAll(p, dst, words(src), float16ToFloat32, func(v uint16) float32 { return dtype.F16(v).Float32() })
}

// Float32ToFloat16 rounds to the nearest, ties to even.
func Float32ToFloat16(p *kernel.Pool, dst []dtype.F16, src []float32) {
	castAll(p, words(dst), src, float32ToFloat16, func(v float32) uint16 { return uint16(dtype.F16From(v)) })
}

// BFloat16ToFloat32 computes dst[i] = src[i], exactly.
func BFloat16ToFloat32(p *kernel.Pool, dst []float32, src []dtype.BF16) {
	castAll(p, dst, words(src), bfloat16ToFloat32, func(v uint16) float32 { return dtype.BF16(v).Float32() })
}

// Float32ToBFloat16 rounds to the nearest, ties to even.
func Float32ToBFloat16(p *kernel.Pool, dst []dtype.BF16, src []float32) {
	castAll(p, words(dst), src, float32ToBFloat16, func(v float32) uint16 { return uint16(dtype.BF16From(v)) })
}

// Float64ToFloat32 rounds to the nearest, ties to even.
func Float64ToFloat32(p *kernel.Pool, dst []float32, src []float64) {
	castAll(p, dst, src, float64ToFloat32, func(v float64) float32 { return float32(v) })
}

// Float32ToFloat64 computes dst[i] = src[i], exactly.
func Float32ToFloat64(p *kernel.Pool, dst []float64, src []float32) {
	castAll(p, dst, src, float32ToFloat64, func(v float32) float64 { return float64(v) })
}

// Int64ToFloat32 rounds to the nearest, ties to even.
func Int64ToFloat32(p *kernel.Pool, dst []float32, src []int64) {
	castAll(p, dst, src, int64ToFloat32, func(v int64) float32 { return float32(v) })
}

// Float32ToInt64 truncates toward zero; values out of range saturate, and NaN becomes 0.
func Float32ToInt64(p *kernel.Pool, dst []int64, src []float32) {
	castAll(p, dst, src, float32ToInt64, func(v float32) int64 { return dtype.Truncate(float64(v)) })
}

// Uint8ToFloat32 computes dst[i] = src[i], exactly.
func Uint8ToFloat32(p *kernel.Pool, dst []float32, src []uint8) {
	castAll(p, dst, src, uint8ToFloat32, func(v uint8) float32 { return float32(v) })
}

// Uint8ToInt64 computes dst[i] = src[i].
func Uint8ToInt64(p *kernel.Pool, dst []int64, src []uint8) {
	castAll(p, dst, src, uint8ToInt64, func(v uint8) int64 { return int64(v) })
}

// castBlock is the number of elements that the assembly converts at a time.
const castBlock = 16

// castAll converts blocks with the assembly, and the rest with one: blocks with a number that the assembly
// does not support, and the last elements.
func castAll[D, S any](p *kernel.Pool, dst []D, src []S, assembly func(n int, dst *D, src *S) int, one func(S) D) {
	src = src[:len(dst)]
	p.Range(len(dst), kernel.ElementGrain, func(lo, hi int) {
		for lo < hi {
			if kernel.SIMD {
				lo += assembly(hi-lo, &dst[lo], &src[lo])
			}
			for end := min(lo+castBlock, hi); lo < end; lo++ {
				dst[lo] = one(src[lo])
			}
		}
	})
}

// words views s as its bits.
func words[T ~uint16](s []T) []uint16 {
	return unsafe.Slice((*uint16)(unsafe.Pointer(unsafe.SliceData(s))), len(s))
}

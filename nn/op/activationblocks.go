package op

import (
	"github.com/graft-ml/graft/internal/kernel"
)

// Activations are composed of the vectorised kernels of package kernel, a block at a time: small
// enough to stay in the cache, and with buffers of their own, since the output may lie over the
// input.

// blockSize is the number of elements of a block.
const blockSize = 1024

// blocked makes a slice kernel of a function of one block; t and u are buffers of its length.
func blocked[T kernel.Float](f func(dst, x, t, u []T)) func(p *kernel.Pool, dst, src []T) {
	return func(p *kernel.Pool, dst, src []T) {
		p.Range(len(dst), 4*blockSize, func(lo, hi int) {
			var t, u [blockSize]T
			for ; lo < hi; lo += blockSize {
				n := min(hi-lo, blockSize)
				f(dst[lo:lo+n], src[lo:lo+n], t[:n], u[:n])
			}
		})
	}
}

// blockedGrad is blocked for gradients.
func blockedGrad[T kernel.Float](f func(dx, dy, x, t, u []T)) func(p *kernel.Pool, dx, dy, x []T) {
	return func(p *kernel.Pool, dx, dy, x []T) {
		p.Range(len(dx), 4*blockSize, func(lo, hi int) {
			var t, u [blockSize]T
			for ; lo < hi; lo += blockSize {
				n := min(hi-lo, blockSize)
				f(dx[lo:lo+n], dy[lo:lo+n], x[lo:lo+n], t[:n], u[:n])
			}
		})
	}
}

// affine is dst = x·a + b.
func affine[T kernel.Float](dst, x []T, a, b T) {
	kernel.BinaryScalar(nil, kernel.OpMul, dst, x, a)
	kernel.BinaryScalar(nil, kernel.OpAdd, dst, dst, b)
}

// clamp is dst = min(max(x, lo), hi); NaN stays.
func clamp[T kernel.Float](dst, x []T, lo, hi T) {
	kernel.BinaryScalar(nil, kernel.OpMax, dst, x, lo)
	kernel.BinaryScalar(nil, kernel.OpMin, dst, dst, hi)
}

// erfGradBlock is dy·2/√π·e^(−x²).
func erfGradBlock[T kernel.Float](dx, dy, x, t, _ []T) {
	kernel.Mul(nil, t, x, x)
	kernel.Scale(nil, -1, t, t)
	kernel.Exp(nil, t, t)
	kernel.Scale(nil, T(twoOverSqrtPi), t, t)
	kernel.Mul(nil, dx, dy, t)
}

func rampBlock[T kernel.Float](a, b T) func(dst, x, t, u []T) {
	return func(dst, x, _, _ []T) {
		affine(dst, x, a, b)
		clamp(dst, dst, 0, 1)
	}
}

// powScalar knows the exponents that networks use; false: it does not know b.
func powScalar[T kernel.Float](dst, a []T, b T) bool {
	switch b {
	case 2:
		kernel.Mul(nil, dst, a, a)
	case 0.5:
		kernel.Sqrt(nil, dst, a)
	case -1:
		kernel.BinaryScalar(nil, kernel.OpRDiv, dst, a, 1)
	case 3:
		for i, v := range a {
			dst[i] = v * v * v
		}
	case 1:
		copy(dst, a)
	default:
		return false
	}
	return true
}

// powByBaseScalar is b·a^(b−1) for the same exponents.
func powByBaseScalar[T kernel.Float](dst, a []T, b T) bool {
	if b == 0 || !powScalar(dst, a, b-1) {
		return false
	}
	kernel.Scale(nil, b, dst, dst)
	return true
}

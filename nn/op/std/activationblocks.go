package std

import (
	"github.com/graft-ml/graft/internal/kernel"
	"github.com/graft-ml/graft/internal/kernel/elementwise"
)

// Activations are composed of the vectorized kernels of package kernel, one block at a time, so that
// intermediate results stay in the cache. They have separate buffers, since the output may share memory with the
// input.

// blockSize is the number of elements of a block.
const blockSize = 1024

// blocked makes a slice kernel of a function of one block; t and u are buffers of its length.
func blocked[T kernel.Float](f func(dst, x, t, u []T)) func(p *kernel.Pool, dst, src []T) {
	return func(p *kernel.Pool, dst, src []T) {
		p.Range(len(dst), 4*blockSize, func(lo, hi int) {
			b := kernel.Borrow[T](2 * blockSize)
			defer kernel.GiveBack(b)
			t, u := (*b)[:blockSize], (*b)[blockSize:]
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
			b := kernel.Borrow[T](2 * blockSize)
			defer kernel.GiveBack(b)
			t, u := (*b)[:blockSize], (*b)[blockSize:]
			for ; lo < hi; lo += blockSize {
				n := min(hi-lo, blockSize)
				f(dx[lo:lo+n], dy[lo:lo+n], x[lo:lo+n], t[:n], u[:n])
			}
		})
	}
}

// affine is dst = x·a + b.
func affine[T kernel.Float](dst, x []T, a, b T) {
	elementwise.BinaryScalar(nil, elementwise.OpMul, dst, x, a)
	elementwise.BinaryScalar(nil, elementwise.OpAdd, dst, dst, b)
}

// clamp is dst = min(max(x, lo), hi); NaN stays.
func clamp[T kernel.Float](dst, x []T, lo, hi T) {
	elementwise.BinaryScalar(nil, elementwise.OpMax, dst, x, lo)
	elementwise.BinaryScalar(nil, elementwise.OpMin, dst, dst, hi)
}

// erfGradBlock is dy·2/√π·e^(−x²).
func erfGradBlock[T kernel.Float](dx, dy, x, t, _ []T) {
	elementwise.Mul(nil, t, x, x)
	elementwise.Scale(nil, -1, t, t)
	elementwise.Exp(nil, t, t)
	elementwise.Scale(nil, T(twoOverSqrtPi), t, t)
	elementwise.Mul(nil, dx, dy, t)
}

func absGradBlock[T kernel.Float](dx, dy, x, t, _ []T) {
	elementwise.Sign(nil, t, x)
	elementwise.Mul(nil, dx, dy, t)
}

// sqrtGradBlock is dy/(2y).
func sqrtGradBlock[T kernel.Float](dx, dy, y, t, _ []T) {
	elementwise.Scale(nil, 2, t, y)
	elementwise.Div(nil, dx, dy, t)
}

// reciprocalGradBlock is −dy·y².
func reciprocalGradBlock[T kernel.Float](dx, dy, y, t, _ []T) {
	elementwise.Mul(nil, t, dy, y)
	elementwise.Mul(nil, t, t, y)
	elementwise.Scale(nil, -1, dx, t)
}

func sinGradBlock[T kernel.Float](dx, dy, x, t, _ []T) {
	elementwise.Cos(nil, t, x)
	elementwise.Mul(nil, dx, dy, t)
}

func cosGradBlock[T kernel.Float](dx, dy, x, t, _ []T) {
	elementwise.Sin(nil, t, x)
	elementwise.Mul(nil, t, dy, t)
	elementwise.Scale(nil, -1, dx, t)
}

// atanGradBlock is dy/(1+x²).
func atanGradBlock[T kernel.Float](dx, dy, x, t, _ []T) {
	elementwise.Mul(nil, t, x, x)
	elementwise.BinaryScalar(nil, elementwise.OpAdd, t, t, 1)
	elementwise.Div(nil, dx, dy, t)
}

// softsignBlock is x/(1+|x|).
func softsignBlock[T kernel.Float](dst, x, t, _ []T) {
	elementwise.Abs(nil, t, x)
	elementwise.BinaryScalar(nil, elementwise.OpAdd, t, t, 1)
	elementwise.Div(nil, dst, x, t)
}

func softsignGradBlock[T kernel.Float](dx, dy, x, t, _ []T) {
	elementwise.Abs(nil, t, x)
	elementwise.BinaryScalar(nil, elementwise.OpAdd, t, t, 1)
	elementwise.Mul(nil, t, t, t)
	elementwise.Div(nil, dx, dy, t)
}

// rampGradBlock returns a·dy where y is above 0 and below 1, else 0.
func rampGradBlock[T kernel.Float](a T) func(dx, dy, y, t, u []T) {
	return func(dx, dy, y, t, _ []T) {
		elementwise.BinaryScalar(nil, elementwise.OpRSub, t, y, 1)
		elementwise.ReluGrad(nil, dx, dy, y)
		elementwise.ReluGrad(nil, dx, dx, t)
		elementwise.Scale(nil, a, dx, dx)
	}
}

func rampBlock[T kernel.Float](a, b T) func(dst, x, t, u []T) {
	return func(dst, x, _, _ []T) {
		affine(dst, x, a, b)
		clamp(dst, dst, 0, 1)
	}
}

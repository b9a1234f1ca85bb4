package op

import (
	"math"

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

// hardSwishBlock is x·clamp(x/6 + 1/2).
func hardSwishBlock[T kernel.Float](dst, x, t, _ []T) {
	affine(t, x, T(1)/6, 0.5)
	clamp(t, t, 0, 1)
	kernel.Mul(nil, dst, x, t)
}

// erfGradBlock is dy·2/√π·e^(−x²).
func erfGradBlock[T kernel.Float](dx, dy, x, t, _ []T) {
	kernel.Mul(nil, t, x, x)
	kernel.Scale(nil, -1, t, t)
	kernel.Exp(nil, t, t)
	kernel.Scale(nil, T(twoOverSqrtPi), t, t)
	kernel.Mul(nil, dx, dy, t)
}

// geluErfBlock is x·(1 + erf(x/√2))/2.
func geluErfBlock[T kernel.Float](dst, x, t, _ []T) {
	kernel.Scale(nil, T(1/math.Sqrt2), t, x)
	kernel.Erf(nil, t, t)
	affine(t, t, 0.5, 0.5)
	kernel.Mul(nil, dst, x, t)
}

// geluErfGradBlock is dy·(Φ(x) + x·φ(x)).
func geluErfGradBlock[T kernel.Float](dx, dy, x, t, u []T) {
	kernel.Mul(nil, u, x, x)
	kernel.Scale(nil, -0.5, u, u)
	kernel.Exp(nil, u, u)
	kernel.Scale(nil, T(1/math.Sqrt(2*math.Pi)), u, u)
	kernel.Mul(nil, u, u, x)
	kernel.Scale(nil, T(1/math.Sqrt2), t, x)
	kernel.Erf(nil, t, t)
	affine(t, t, 0.5, 0.5)
	kernel.Add(nil, t, t, u)
	kernel.Mul(nil, dx, dy, t)
}

// geluTanhArg is tanh(c·(x + 0.044715·x³)), with x² in u.
func geluTanhArg[T kernel.Float](t, u, x []T) {
	kernel.Mul(nil, u, x, x)
	affine(t, u, T(geluC*geluCube), T(geluC))
	kernel.Mul(nil, t, t, x)
	kernel.Tanh(nil, t, t)
}

func geluTanhBlock[T kernel.Float](dst, x, t, u []T) {
	geluTanhArg(t, u, x)
	affine(t, t, 0.5, 0.5)
	kernel.Mul(nil, dst, x, t)
}

// geluTanhGradBlock is dy·((1+t)/2 + x·(1−t²)/2·c·(1 + 3·0.044715·x²)).
func geluTanhGradBlock[T kernel.Float](dx, dy, x, t, u []T) {
	geluTanhArg(t, u, x)
	affine(u, u, T(1.5*geluC*geluCube), T(0.5*geluC))
	kernel.Mul(nil, u, u, x)
	for i, v := range t {
		u[i] = u[i]*(1-v*v) + 0.5*(1+v)
	}
	kernel.Mul(nil, dx, dy, u)
}

func swishBlock[T kernel.Float](a T) func(dst, x, t, u []T) {
	return func(dst, x, t, _ []T) {
		kernel.Scale(nil, a, t, x)
		kernel.Sigmoid(nil, t, t)
		kernel.Mul(nil, dst, x, t)
	}
}

// swishGradBlock is dy·s·(1 + a·x·(1−s)).
func swishGradBlock[T kernel.Float](a T) func(dx, dy, x, t, u []T) {
	return func(dx, dy, x, t, u []T) {
		kernel.Scale(nil, a, u, x)
		kernel.Sigmoid(nil, t, u)
		for i, s := range t {
			t[i] = s * (1 + u[i]*(1-s))
		}
		kernel.Mul(nil, dx, dy, t)
	}
}

// softplusBlock is max(x, 0) + ln(1 + e^−|x|).
func softplusBlock[T kernel.Float](dst, x, t, u []T) {
	kernel.Scale(nil, -1, t, x)
	kernel.Binary(nil, kernel.OpMin, t, t, x)
	kernel.Exp(nil, t, t)
	kernel.BinaryScalar(nil, kernel.OpAdd, t, t, 1)
	kernel.Log(nil, t, t)
	kernel.BinaryScalar(nil, kernel.OpMax, u, x, 0)
	kernel.Add(nil, dst, t, u)
}

func softplusGradBlock[T kernel.Float](dx, dy, x, t, _ []T) {
	kernel.Sigmoid(nil, t, x)
	kernel.Mul(nil, dx, dy, t)
}

// mishRatio is tanh(softplus(x)) = q/(q+2) for q = e^x·(e^x + 2), in t; u holds e^x.
func mishRatio[T kernel.Float](t, u, x []T) {
	kernel.BinaryScalar(nil, kernel.OpMin, u, x, 20) // beyond it the ratio is 1
	kernel.Exp(nil, u, u)
	for i, e := range u {
		q := e * (e + 2)
		t[i] = q / (q + 2)
	}
}

func mishBlock[T kernel.Float](dst, x, t, u []T) {
	mishRatio(t, u, x)
	kernel.Mul(nil, dst, x, t)
}

// mishGradBlock: the sigmoid of x is e^x/(1 + e^x).
func mishGradBlock[T kernel.Float](dx, dy, x, t, u []T) {
	mishRatio(t, u, x)
	for i, r := range t {
		dx[i] = dy[i] * (r + x[i]*(u[i]/(1+u[i]))*(1-r*r))
	}
}

// leakyBlock is max(x, a·x), which holds for slopes up to 1.
func leakyBlock[T kernel.Float](a T) func(dst, x, t, u []T) {
	return func(dst, x, t, _ []T) {
		kernel.Scale(nil, a, t, x)
		kernel.Binary(nil, kernel.OpMax, dst, x, t)
	}
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

package softmax

import (
	"math"

	"github.com/graft-ml/graft/internal/kernel"
	"github.com/graft-ml/graft/internal/kernel/elementwise"
	"github.com/graft-ml/graft/internal/kernel/vector"
)

// Softmax computes exp(x - max) / Σ exp(x - max) over the middle dimension of
// [outer, axis, inner]; dst may be x.
func Softmax[T kernel.Float](p *kernel.Pool, outer, axis, inner int, dst, x []T) {
	if inner >= fewColumns && outer*axis > 0 {
		softmaxColumns(p, outer, axis, inner, dst, x, false)
		return
	}
	row := softmaxRow[T]
	if axis > kernel.LongRow {
		row = func(dst, x []T) { softmaxLongRow(p, dst, x) }
	}
	softmax(p, outer, axis, inner, dst, x, row)
}

// LogSoftmax computes x - max - log Σ exp(x - max) over the middle dimension of
// [outer, axis, inner]; dst may be x.
func LogSoftmax[T kernel.Float](p *kernel.Pool, outer, axis, inner int, dst, x []T) {
	if inner >= fewColumns && outer*axis > 0 {
		softmaxColumns(p, outer, axis, inner, dst, x, true)
		return
	}
	row := logSoftmaxRow[T]
	if axis > kernel.LongRow {
		row = func(dst, x []T) { logSoftmaxLongRow(p, dst, x) }
	}
	softmax(p, outer, axis, inner, dst, x, row)
}

// SoftmaxGrad computes dx = y*(dy - Σ dy*y) from Softmax's output y; dx may be dy.
func SoftmaxGrad[T kernel.Float](p *kernel.Pool, outer, axis, inner int, dx, dy, y []T) {
	if inner >= fewColumns && outer*axis > 0 {
		softmaxColumnsGrad(p, outer, axis, inner, dx, dy, y, false)
		return
	}
	row := func(dx, dy, y []T) { softmaxRowGrad(dx, dy, y, 1) }
	if axis > kernel.LongRow {
		row = func(dx, dy, y []T) { softmaxLongRowGrad(p, dx, dy, y) }
	}
	lanes(p, outer, axis, inner, dx, [2][]T{dy, y}, row)
}

// LogSoftmaxGrad computes dx = dy - exp(y)*Σ dy from LogSoftmax's output y; dx may be dy.
func LogSoftmaxGrad[T kernel.Float](p *kernel.Pool, outer, axis, inner int, dx, dy, y []T) {
	if inner >= fewColumns && outer*axis > 0 {
		softmaxColumnsGrad(p, outer, axis, inner, dx, dy, y, true)
		return
	}
	lanes(p, outer, axis, inner, dx, [2][]T{dy, y}, func(dx, dy, y []T) {
		if axis > kernel.LongRow {
			logSoftmaxLongRowGrad(p, dx, dy, y)
			return
		}
		if kernel.SIMD && kernel.Vectorizable(dx, y) {
			logSoftmaxRowGradV(len(dx), &kernel.Float32s(dx)[0], &kernel.Float32s(dy)[0], &kernel.Float32s(y)[0])
			return
		}
		s := vector.BlockSum(dy)
		buffer := kernel.Borrow[T](len(y))
		defer kernel.GiveBack(buffer)
		e := (*buffer)[:len(y)]
		elementwise.ExpInto(e, y)
		vector.Affine2(dx, e, dy, -s, 1, 0)
	})
}

func softmaxRow[T kernel.Float](dst, x []T) { softmaxScaledRow(dst, x, nil, 1) }

// softmaxScaledRow is softmaxRow of scale*x + mask; mask may be nil. Assembly takes e⁻⁸⁷ and less for 0.
func softmaxScaledRow[T kernel.Float](dst, x, mask []T, scale T) {
	if kernel.SIMD && kernel.Vectorizable(dst, x) {
		s, first := float32(scale), (*float32)(nil)
		if mask != nil {
			first = &kernel.Float32s(mask[:len(dst)])[0]
		}
		softmaxRowV(len(dst), &kernel.Float32s(dst)[0], &kernel.Float32s(x)[0], first, &s)
		return
	}
	if scale != 1 {
		elementwise.BinaryScalarInto(elementwise.OpMul, dst, x, scale)
		x = dst
	}
	if mask != nil {
		elementwise.BinaryInto(elementwise.OpAdd, dst, x, mask[:len(dst)])
		x = dst
	}
	m := vector.Largest(x)
	if math.IsInf(float64(m), -1) {
		m = 0 // all -Inf: 0/0 below, as the definition has it
	}
	elementwise.BinaryScalarInto(elementwise.OpMul, dst, dst, 1/expSubSumInto(dst, x, m))
}

// softmaxRowGrad is scale*y*(dy - Σ dy*y); dx may be dy.
func softmaxRowGrad[T kernel.Float](dx, dy, y []T, scale T) {
	if kernel.SIMD && kernel.Vectorizable(dx, y) {
		s := float32(scale)
		softmaxRowGradV(len(dx), &kernel.Float32s(dx)[0], &kernel.Float32s(dy)[0], &kernel.Float32s(y)[0], &s)
		return
	}
	s := vector.BlockDot(dy, y)
	for i, v := range y {
		dx[i] = v * (dy[i] - s) * scale
	}
}

func logSoftmaxRow[T kernel.Float](dst, x []T) {
	if kernel.SIMD && kernel.Vectorizable(dst, x) {
		logSoftmaxRowV(len(dst), &kernel.Float32s(dst)[0], &kernel.Float32s(x)[0])
		return
	}
	m := vector.Largest(x)
	if math.IsInf(float64(m), -1) {
		m = 0
	}
	e := kernel.Borrow[T](len(x))
	defer kernel.GiveBack(e)
	total := expSubSumInto((*e)[:len(x)], x, m)
	elementwise.BinaryScalarInto(elementwise.OpSub, dst, x, m) // in two steps: their sum could lose the logarithm's digits
	elementwise.BinaryScalarInto(elementwise.OpSub, dst, dst, T(math.Log(float64(total))))
}

// expSubSumInto sets dst to exp(x[i] - m) and returns the sum.
func expSubSumInto[T kernel.Float](dst, x []T, m T) T {
	if kernel.SIMD && kernel.Vectorizable(dst, x) {
		v := float32(m)
		return T(expSubSum(len(dst), &kernel.Float32s(dst)[0], &kernel.Float32s(x)[0], &v))
	}
	elementwise.ExpSubInto(dst, x, m)
	return vector.BlockSum(dst)
}

func softmax[T kernel.Float](p *kernel.Pool, outer, axis, inner int, dst, x []T, row func(dst, x []T)) {
	lanes(p, outer, axis, inner, dst, [2][]T{x}, func(dst, x, _ []T) { row(dst, x) })
}

// lanes calls f with each line along the middle dimension of dst and src, through
// contiguous copies where inner > 1.
func lanes[T kernel.Float](p *kernel.Pool, outer, axis, inner int, dst []T, src [2][]T, f func(dst, a, b []T)) {
	n := outer * axis * inner
	if n == 0 {
		return
	}
	dst = dst[:n]
	if inner == 1 {
		p.Range(outer, max(1, kernel.FunctionGrain/axis), func(lo, hi int) {
			for i := lo; i < hi; i++ {
				var b []T
				if src[1] != nil {
					b = src[1][i*axis:][:axis]
				}
				f(dst[i*axis:][:axis], src[0][i*axis:][:axis], b)
			}
		})
		return
	}
	p.Range(outer*inner, max(1, kernel.FunctionGrain/axis), func(lo, hi int) {
		buffer := kernel.Borrow[T](2 * axis)
		defer kernel.GiveBack(buffer)
		a, b := (*buffer)[:axis], (*buffer)[axis:][:axis]
		for i := lo; i < hi; i++ {
			at := i/inner*axis*inner + i%inner
			p.InParts(axis, func(lo, hi int) {
				for q := lo; q < hi; q++ {
					a[q] = src[0][at+q*inner]
				}
				if src[1] != nil {
					for q := lo; q < hi; q++ {
						b[q] = src[1][at+q*inner]
					}
				}
			})
			f(a, a, b)
			p.InParts(axis, func(lo, hi int) {
				for q, v := range a[lo:hi] {
					dst[at+(lo+q)*inner] = v
				}
			})
		}
	})
}

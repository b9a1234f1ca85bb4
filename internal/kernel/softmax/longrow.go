package softmax

import (
	"math"

	"github.com/graft-ml/graft/internal/kernel"
	"github.com/graft-ml/graft/internal/kernel/elementwise"
	"github.com/graft-ml/graft/internal/kernel/vector"
)

// Rows that are longer than kernel.LongRow are computed in parts of it, so that the pool can be stopped between them.

// expOfLongRow calls f with each part of exp(x − max) and where it begins, and returns the largest element, 0 if all are −Inf, and the sum.
func expOfLongRow[T kernel.Float](p *kernel.Pool, x []T, part func(lo, hi int) []T) (top, total T) {
	top = T(math.Inf(-1))
	p.InParts(len(x), func(lo, hi int) { top = max(top, vector.Largest(x[lo:hi])) })
	if math.IsInf(float64(top), -1) {
		top = 0 // all -Inf: 0/0, as the definition has it
	}
	p.InParts(len(x), func(lo, hi int) { total += expSubSumInto(part(lo, hi), x[lo:hi], top) })
	return top, total
}

func softmaxLongRow[T kernel.Float](p *kernel.Pool, dst, x []T) {
	_, total := expOfLongRow(p, x, func(lo, hi int) []T { return dst[lo:hi] })
	p.InParts(len(dst), func(lo, hi int) {
		elementwise.BinaryScalarInto(elementwise.OpMul, dst[lo:hi], dst[lo:hi], 1/total)
	})
}

func logSoftmaxLongRow[T kernel.Float](p *kernel.Pool, dst, x []T) {
	e := kernel.Borrow[T](kernel.LongRow)
	defer kernel.GiveBack(e)
	top, total := expOfLongRow(p, x, func(lo, hi int) []T { return (*e)[:hi-lo] })
	p.InParts(len(dst), func(lo, hi int) {
		elementwise.BinaryScalarInto(elementwise.OpSub, dst[lo:hi], x[lo:hi], top) // in two steps, as in logSoftmaxRow
		elementwise.BinaryScalarInto(elementwise.OpSub, dst[lo:hi], dst[lo:hi], T(math.Log(float64(total))))
	})
}

func softmaxLongRowGrad[T kernel.Float](p *kernel.Pool, dx, dy, y []T) {
	var s T
	p.InParts(len(y), func(lo, hi int) { s += vector.BlockDot(dy[lo:hi], y[lo:hi]) })
	p.InParts(len(y), func(lo, hi int) {
		for i := lo; i < hi; i++ {
			dx[i] = y[i] * (dy[i] - s)
		}
	})
}

func logSoftmaxLongRowGrad[T kernel.Float](p *kernel.Pool, dx, dy, y []T) {
	e := kernel.Borrow[T](kernel.LongRow)
	defer kernel.GiveBack(e)
	var s T
	p.InParts(len(y), func(lo, hi int) { s += vector.BlockSum(dy[lo:hi]) })
	p.InParts(len(y), func(lo, hi int) {
		elementwise.ExpInto((*e)[:hi-lo], y[lo:hi])
		vector.Affine2(dx[lo:hi], (*e)[:hi-lo], dy[lo:hi], -s, 1, 0)
	})
}

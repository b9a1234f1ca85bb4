package softmax

import (
	"math"

	"github.com/graft-ml/graft/internal/kernel"
	"github.com/graft-ml/graft/internal/kernel/elementwise"
	"github.com/graft-ml/graft/internal/kernel/vector"
)

// Where the middle dimension is not the last, its lines are columns: Softmax and its relatives go row by
// row, with vectors over neighbouring columns.

// fewColumns is the number of columns up to which the columnwise algorithm does not pay off.
const fewColumns = 8

// columnLines calls f with runs of neighbouring columns [axis] of x [outer, axis, inner]: at is where
// the first row begins; rows are inner apart; t and u are buffers as long as a row. f tells pace the work of each row.
func columnLines[T kernel.Float](p *kernel.Pool, outer, axis, inner int, f func(pace *kernel.Pace, at int, t, u []T)) {
	const most, lanes = 256, 16
	runs := kernel.CeilDiv(inner, most)
	width := kernel.CeilDiv(kernel.CeilDiv(inner, runs), lanes) * lanes
	p.Range(outer*runs, max(1, kernel.FunctionGrain/(axis*width)), func(lo, hi int) {
		buffer := kernel.Borrow[T](2 * width)
		defer kernel.GiveBack(buffer)
		pace := p.Pace()
		for i := lo; i < hi; i++ {
			from := i % runs * width
			if n := min(inner, from+width) - from; n > 0 {
				f(&pace, i/runs*axis*inner+from, (*buffer)[:n], (*buffer)[width:][:n])
			}
		}
	})
}

// softmaxColumns is Softmax, or LogSoftmax, of columns.
func softmaxColumns[T kernel.Float](p *kernel.Pool, outer, axis, inner int, dst, x []T, logarithm bool) {
	columnLines(p, outer, axis, inner, func(pace *kernel.Pace, at int, top, total []T) {
		n := len(top)
		row := func(x []T, q int) []T { return x[at+q*inner:][:n] }
		copy(top, row(x, 0))
		for q := 1; q < axis; q++ {
			pace.Did(n)
			elementwise.BinaryInto(elementwise.OpMax, top, top, row(x, q))
		}
		for i, v := range top {
			if math.IsInf(float64(v), -1) {
				top[i] = 0 // all -Inf: 0/0 below, as the definition has it
			}
		}
		clear(total)
		if !logarithm {
			for q := range axis {
				pace.Did(n)
				d := row(dst, q)
				elementwise.BinaryInto(elementwise.OpSub, d, row(x, q), top)
				elementwise.ExpInto(d, d)
				elementwise.BinaryInto(elementwise.OpAdd, total, total, d)
			}
			elementwise.BinaryScalarInto(elementwise.OpRDiv, total, total, 1)
			for q := range axis {
				pace.Did(n)
				elementwise.BinaryInto(elementwise.OpMul, row(dst, q), row(dst, q), total)
			}
			return
		}
		e := kernel.Borrow[T](n)
		defer kernel.GiveBack(e)
		for q := range axis {
			pace.Did(n)
			elementwise.BinaryInto(elementwise.OpSub, row(dst, q), row(x, q), top)
			elementwise.ExpInto((*e)[:n], row(dst, q))
			elementwise.BinaryInto(elementwise.OpAdd, total, total, (*e)[:n])
		}
		elementwise.LogInto(total, total)
		for q := range axis {
			pace.Did(n)
			elementwise.BinaryInto(elementwise.OpSub, row(dst, q), row(dst, q), total)
		}
	})
}

// softmaxColumnsGrad is SoftmaxGrad, or LogSoftmaxGrad, of columns.
func softmaxColumnsGrad[T kernel.Float](p *kernel.Pool, outer, axis, inner int, dx, dy, y []T, logarithm bool) {
	columnLines(p, outer, axis, inner, func(pace *kernel.Pace, at int, total, t []T) {
		n := len(total)
		row := func(x []T, q int) []T { return x[at+q*inner:][:n] }
		clear(total)
		for q := range axis {
			pace.Did(n)
			if logarithm {
				elementwise.BinaryInto(elementwise.OpAdd, total, total, row(dy, q))
			} else {
				vector.AddProduct(total, row(dy, q), row(y, q))
			}
		}
		for q := range axis {
			pace.Did(n)
			if logarithm {
				elementwise.ExpInto(t, row(y, q))
				elementwise.BinaryInto(elementwise.OpMul, t, t, total)
				elementwise.BinaryInto(elementwise.OpSub, row(dx, q), row(dy, q), t)
			} else {
				elementwise.BinaryInto(elementwise.OpSub, t, row(dy, q), total)
				elementwise.BinaryInto(elementwise.OpMul, row(dx, q), t, row(y, q))
			}
		}
	})
}

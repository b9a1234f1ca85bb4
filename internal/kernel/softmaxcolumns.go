package kernel

import "math"

// Where the middle dimension is not the last, its lines are columns: Softmax and its relatives go row by
// row, with vectors over neighbouring columns.

// fewColumns is how many columns are not worth it.
const fewColumns = 8

// columnLines calls f with runs of neighbouring columns [axis] of x [outer, axis, inner]: at is where
// the first row begins; rows are inner apart; t and u are buffers as long as a row.
func columnLines[T Float](p *Pool, outer, axis, inner int, f func(at int, t, u []T)) {
	const most, lanes = 256, 16
	runs := cdiv(inner, most)
	width := cdiv(cdiv(inner, runs), lanes) * lanes
	p.Range(outer*runs, max(1, functionGrain/(axis*width)), func(lo, hi int) {
		buffer := Borrow[T](2 * width)
		defer GiveBack(buffer)
		for i := lo; i < hi; i++ {
			from := i % runs * width
			if n := min(inner, from+width) - from; n > 0 {
				f(i/runs*axis*inner+from, (*buffer)[:n], (*buffer)[width:][:n])
			}
		}
	})
}

// softmaxColumns is Softmax, or LogSoftmax, of columns.
func softmaxColumns[T Float](p *Pool, outer, axis, inner int, dst, x []T, logarithm bool) {
	columnLines(p, outer, axis, inner, func(at int, top, total []T) {
		n := len(top)
		row := func(x []T, q int) []T { return x[at+q*inner:][:n] }
		copy(top, row(x, 0))
		for q := 1; q < axis; q++ {
			binaryVV(OpMax, top, top, row(x, q))
		}
		for i, v := range top {
			if math.IsInf(float64(v), -1) {
				top[i] = 0 // all -Inf: 0/0 below, as the definition has it
			}
		}
		clear(total)
		if !logarithm {
			for q := range axis {
				d := row(dst, q)
				binaryVV(OpSub, d, row(x, q), top)
				expInto(d, d)
				binaryVV(OpAdd, total, total, d)
			}
			binaryVS(OpRDiv, total, total, 1)
			for q := range axis {
				binaryVV(OpMul, row(dst, q), row(dst, q), total)
			}
			return
		}
		e := Borrow[T](n)
		defer GiveBack(e)
		for q := range axis {
			binaryVV(OpSub, row(dst, q), row(x, q), top)
			expInto((*e)[:n], row(dst, q))
			binaryVV(OpAdd, total, total, (*e)[:n])
		}
		logInto(total, total)
		for q := range axis {
			binaryVV(OpSub, row(dst, q), row(dst, q), total)
		}
	})
}

// softmaxColumnsGrad is SoftmaxGrad, or LogSoftmaxGrad, of columns.
func softmaxColumnsGrad[T Float](p *Pool, outer, axis, inner int, dx, dy, y []T, logarithm bool) {
	columnLines(p, outer, axis, inner, func(at int, total, t []T) {
		n := len(total)
		row := func(x []T, q int) []T { return x[at+q*inner:][:n] }
		clear(total)
		for q := range axis {
			if logarithm {
				binaryVV(OpAdd, total, total, row(dy, q))
			} else {
				addProduct(total, row(dy, q), row(y, q))
			}
		}
		for q := range axis {
			if logarithm {
				expInto(t, row(y, q))
				binaryVV(OpMul, t, t, total)
				binaryVV(OpSub, row(dx, q), row(dy, q), t)
			} else {
				binaryVV(OpSub, t, row(dy, q), total)
				binaryVV(OpMul, row(dx, q), t, row(y, q))
			}
		}
	})
}

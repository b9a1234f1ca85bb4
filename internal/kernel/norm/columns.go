package norm

import (
	"math"

	"github.com/graft-ml/graft/internal/kernel"
	"github.com/graft-ml/graft/internal/kernel/elementwise"
	"github.com/graft-ml/graft/internal/kernel/vector"
)

// A batch of vectors [rows, cols] is normalized by column panels: all rows of some columns, which stay in a cache
// between the passes, with vector registers across columns.

// columnPanel is the columns from lo to hi of a matrix [rows, cols].
type columnPanel[T kernel.Float] struct {
	pool               *kernel.Pool
	rows, cols, lo, hi int
	buffer             []T // panelBuffers times as long as a row of the column panel
}

const (
	panelColumns = 64
	panelBuffers = 6
)

// eachPanel calls f with all column panels of a matrix.
func eachPanel[T kernel.Float](p *kernel.Pool, rows, cols int, f func(s columnPanel[T])) {
	p.Range(kernel.CeilDiv(cols, panelColumns), max(1, kernel.ElementGrain/max(panelColumns*rows, 1)), func(lo, hi int) {
		buffer := kernel.Borrow[T](panelBuffers * panelColumns)
		defer kernel.GiveBack(buffer)
		for i := lo; i < hi; i++ {
			f(columnPanel[T]{p, rows, cols, i * panelColumns, min(cols, (i+1)*panelColumns), *buffer})
		}
	})
}

// check checks whether the pool is stopped, for each of many rows now and then.
func (s *columnPanel[T]) check(r int) {
	if r%(kernel.LongRow/panelColumns) == kernel.LongRow/panelColumns-1 {
		s.pool.Check()
	}
}

// row returns the columns of the panel in row r of x.
func (s *columnPanel[T]) row(x []T, r int) []T { return x[r*s.cols:][s.lo:s.hi] }

// vector returns buffer i, of the length of a row.
func (s *columnPanel[T]) vector(i int) []T { return s.buffer[i*panelColumns:][:s.hi-s.lo] }

// moments is ChannelMoments: the mean first, then the squares of the differences from it.
func (s *columnPanel[T]) moments(x, mean, variance []T) {
	mean, variance = mean[s.lo:s.hi], variance[s.lo:s.hi]
	clear(mean)
	for r := range s.rows {
		s.check(r)
		elementwise.BinaryInto(elementwise.OpAdd, mean, mean, s.row(x, r))
	}
	for i := range mean {
		mean[i] /= T(s.rows)
	}
	clear(variance)
	d := s.vector(0)
	for r := range s.rows {
		s.check(r)
		elementwise.BinaryInto(elementwise.OpSub, d, s.row(x, r), mean)
		vector.AddProduct(variance, d, d)
	}
	for i := range variance {
		variance[i] /= T(s.rows)
	}
}

// normalize is BatchNormRematerialize.
func (s *columnPanel[T]) normalize(e *elementwise.Epilogue[T], eps T, x, scale, bias, mean, variance, y []T) {
	a, b := s.vector(0), s.vector(1)
	for i := range a {
		a[i], b[i] = normAffine(s.lo+i, eps, scale, bias, mean, variance)
	}
	for r := range s.rows {
		s.check(r)
		row := s.row(y, r)
		elementwise.BinaryInto(elementwise.OpMul, row, s.row(x, r), a)
		elementwise.BinaryInto(elementwise.OpAdd, row, row, b)
		if e.Add != nil {
			elementwise.BinaryInto(elementwise.OpAdd, row, row, s.row(e.Add, r))
		}
		elementwise.Activate(e.Act, row)
	}
}

// gradient is BatchNormGrad.
func (s *columnPanel[T]) gradient(eps T, train bool, x, dy []T, gate *Gate[T], scale, mean, variance, dx, dscale, dbias []T) {
	a, b, e, sumDY, sumDYX, t := s.vector(0), s.vector(1), s.vector(2), s.vector(3), s.vector(4), s.vector(5)
	clear(sumDY)
	clear(sumDYX)
	for r := range s.rows {
		s.check(r)
		g := s.through(gate, dy, r, t)
		elementwise.BinaryInto(elementwise.OpAdd, sumDY, sumDY, g)
		elementwise.BinaryInto(elementwise.OpSub, a, s.row(x, r), mean[s.lo:s.hi])
		vector.AddProduct(sumDYX, a, g)
	}
	if dbias != nil {
		copy(dbias[s.lo:s.hi], sumDY)
	}
	for i := range a { // dx = a*dy + b*x + e
		ch := s.lo + i
		invstd := T(1 / math.Sqrt(float64(variance[ch]+eps)))
		if dscale != nil {
			dscale[ch] = sumDYX[i] * invstd
		}
		a[i], b[i], e[i] = invstd, 0, 0
		if scale != nil {
			a[i] *= scale[ch]
		}
		if train {
			b[i] = -a[i] * sumDYX[i] * invstd * invstd / T(s.rows)
			e[i] = -a[i]*sumDY[i]/T(s.rows) - b[i]*mean[ch]
		}
	}
	if dx == nil {
		return
	}
	for r := range s.rows {
		s.check(r)
		d := s.row(dx, r)
		elementwise.BinaryInto(elementwise.OpMul, d, s.through(gate, dy, r, t), a)
		if train {
			vector.AddProduct(d, s.row(x, r), b)
			elementwise.BinaryInto(elementwise.OpAdd, d, d, e)
		}
	}
}

// through is row r of dy after the gate; t is a buffer for it.
func (s *columnPanel[T]) through(gate *Gate[T], dy []T, r int, t []T) []T {
	g := s.row(dy, r)
	if gate.Y == nil {
		return g
	}
	elementwise.ClipGradInto(t, g, s.row(gate.Y, r), gate.Lo, gate.Hi)
	return t
}

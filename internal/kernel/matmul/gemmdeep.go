package matmul

import (
	"github.com/graft-ml/graft/internal/kernel"
	"github.com/graft-ml/graft/internal/kernel/elementwise"
)

// A product whose inner dimension is long, as that of the gradient of weights by a batch, is cut there:
// each thread multiplies some rows of both operands, often those that it has computed, and packs them
// alone, where parts of C would have all threads read and pack one operand whole. The products are
// added up at the end.
const (
	addedCost   = 30      // of an element of C from another thread, in multiply-adds
	deepestSums = 1 << 16 // elements of C for which there is memory
)

// deep reports whether the inner dimension may be cut: nothing is done to C but to set it.
func (x *Product[T]) deep() bool {
	return x.Left == nil && x.Packed == nil && x.Where == nil && x.end == nil && x.Bias == nil && x.shift == nil && !x.Relu &&
		x.Beta == 0 && x.Span == x.N && x.CsA != 1 && x.direct != nil && x.M*x.N <= deepestSums
}

// depthCost returns the cost of a thread, as grid counts it, where the inner dimension is cut in pieces.
func (x *Product[T]) depthCost(pieces, panels, colPanels int) int {
	sums := x.M * x.N / pieces * (pieces - 1)
	return x.cost(panels, colPanels)/pieces + sums*addedCost/x.K
}

// runDeep cuts the inner dimension.
func (x *Product[T]) runDeep(p *kernel.Pool, pieces int) {
	sums := kernel.Borrow[T]((pieces - 1) * x.M * x.N)
	defer kernel.GiveBack(sums)
	x.Split(p, pieces, *sums)
}

// Split shares the inner dimension between pieces and adds up in order; all products but the first are
// put into sums.
func (x *Product[T]) Split(p *kernel.Pool, pieces int, sums []T) {
	x.pool = p
	size := x.M * x.N
	p.Run(pieces, func(_, i int) {
		y := borrowProduct[T]()
		defer giveBackProduct(y)
		*y = *x
		if i > 0 {
			y.C, y.LDC, y.Span = sums[(i-1)*size:][:size], x.N, x.N
		}
		y.part(0, x.M, 0, x.N, i*x.K/pieces, (i+1)*x.K/pieces)
	})
	p.Run(pieces, func(_, t int) {
		for r := t * x.M / pieces; r < (t+1)*x.M/pieces; r++ {
			row := x.C[r*x.LDC:][:x.N]
			for i := range pieces - 1 {
				elementwise.BinaryInto(elementwise.OpAdd, row, row, sums[i*size+r*x.N:][:x.N])
			}
		}
	})
}

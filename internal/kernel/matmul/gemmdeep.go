package matmul

import (
	"github.com/graft-ml/graft/internal/kernel"
	"github.com/graft-ml/graft/internal/kernel/elementwise"
)

// A product with a long inner dimension, such as the gradient with respect to the weights over a batch, is
// split along it (split-K): each thread multiplies some rows of both operands, often those that it has
// computed, and packs only these, whereas with parts of C all threads would read and pack a whole operand.
// The products are summed at the end.
const (
	addedCost   = 30      // cost of adding an element of C from another thread, in multiply-adds
	deepestSums = 1 << 16 // maximum number of elements of C
)

// deep reports whether the inner dimension may be split: C is only set, without bias, epilogue or addition.
func (x *Product[T]) deep() bool {
	return x.Left == nil && x.Packed == nil && x.Where == nil && x.end == nil && x.Bias == nil && x.shift == nil && !x.Relu &&
		x.Beta == 0 && x.Span == x.N && x.CsA != 1 && x.direct != nil && x.M*x.N <= deepestSums
}

// depthCost returns the cost per thread, in the units of grid, if the inner dimension is split into shards.
func (x *Product[T]) depthCost(shards, panels, colPanels int) int {
	sums := x.M * x.N / shards * (shards - 1)
	return x.cost(panels, colPanels)/shards + sums*addedCost/x.K
}

// runDeep computes the product split along the inner dimension.
func (x *Product[T]) runDeep(p *kernel.Pool, shards int) {
	sums := kernel.Borrow[T]((shards - 1) * x.M * x.N)
	defer kernel.GiveBack(sums)
	x.Split(p, shards, *sums)
}

// Split divides the inner dimension into shards and adds their products in order; all products but the first are
// written to sums.
func (x *Product[T]) Split(p *kernel.Pool, shards int, sums []T) {
	x.pool = p
	size := x.M * x.N
	p.Run(shards, func(_, i int) {
		y := borrowProduct[T]()
		defer giveBackProduct(y)
		*y = *x
		if i > 0 {
			y.C, y.LDC, y.Span = sums[(i-1)*size:][:size], x.N, x.N
		}
		y.part(0, x.M, 0, x.N, i*x.K/shards, (i+1)*x.K/shards)
	})
	p.Run(shards, func(_, t int) {
		for r := t * x.M / shards; r < (t+1)*x.M/shards; r++ {
			row := x.C[r*x.LDC:][:x.N]
			for i := range shards - 1 {
				elementwise.BinaryInto(elementwise.OpAdd, row, row, sums[i*size+r*x.N:][:x.N])
			}
		}
	})
}

package kernel

// A product whose inner dimension is long, as that of the gradient of weights by a batch, is cut there:
// each thread multiplies some rows of both operands, often those that it has computed, and packs them
// alone, where parts of C would have all threads read and pack one operand whole. The products are
// added up at the end.
const (
	addedCost   = 30      // of an element of C from another thread, in multiply-adds
	deepestSums = 1 << 16 // elements of C for which there is memory
)

// deep tells whether the inner dimension may be cut: nothing is done to C but to set it.
func (x *product[T]) deep() bool {
	return x.left == nil && x.packed == nil && x.where == nil && x.end == nil && x.bias == nil && x.shift == nil && !x.relu &&
		x.beta == 0 && x.span == x.n && x.csA != 1 && x.direct != nil && x.m*x.n <= deepestSums
}

// depthCost is the cost of a thread, as grid counts it, where the inner dimension is cut in pieces.
func (x *product[T]) depthCost(pieces, panels, strips int) int {
	sums := x.m * x.n / pieces * (pieces - 1)
	return x.cost(panels, strips)/pieces + sums*addedCost/x.k
}

// runDeep cuts the inner dimension.
func (x *product[T]) runDeep(p *Pool, pieces int) {
	sums := Borrow[T]((pieces - 1) * x.m * x.n)
	defer GiveBack(sums)
	x.split(p, pieces, *sums)
}

// split shares the inner dimension between pieces and adds up in order; all products but the first are
// put into sums.
func (x *product[T]) split(p *Pool, pieces int, sums []T) {
	size := x.m * x.n
	p.Run(pieces, func(_, i int) {
		y := borrowProduct[T]()
		defer giveBackProduct(y)
		*y = *x
		if i > 0 {
			y.c, y.ldc, y.span = sums[(i-1)*size:][:size], x.n, x.n
		}
		y.part(0, x.m, 0, x.n, i*x.k/pieces, (i+1)*x.k/pieces)
	})
	p.Run(pieces, func(_, t int) {
		for r := t * x.m / pieces; r < (t+1)*x.m/pieces; r++ {
			row := x.c[r*x.ldc:][:x.n]
			for i := range pieces - 1 {
				binaryVV(OpAdd, row, row, sums[i*size+r*x.n:][:x.n])
			}
		}
	})
}

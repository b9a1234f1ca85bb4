package matmul

import (
	"sync"

	"github.com/graft-ml/graft/internal/kernel"
	"github.com/graft-ml/graft/internal/kernel/elementwise"
)

// finished runs the product m with an epilogue whose channels are the columns. Micro-kernels apply a shift
// and clipping below 0; the rest is applied when a part of C is complete.
func (m Product[T]) finished(p *kernel.Pool, e elementwise.Epilogue[T]) {
	x := borrowProduct[T]()
	defer giveBackProduct(x)
	*x = m
	if e.Scale == nil && e.Shift != nil {
		x.shift, e.Shift = e.Shift, nil
		if x.N%NR != 0 { // the micro-kernels read whole column panels
			padded := kernel.Borrow[T](kernel.CeilDiv(x.N, NR) * NR)
			defer kernel.GiveBack(padded)
			clear((*padded)[copy(*padded, x.shift[:x.N]):])
			x.shift = *padded
		}
	}
	if e.IsPlain() && e.Shift == nil {
		x.Relu = e.Act.Kind == elementwise.ActRelu
	} else {
		x.rest = e
		x.end = &x.rest
	}
	x.Run(p)
}

// Products are kept between calls, like workers.
var products32, products64 sync.Pool // of *product[T], all zero

func products[T kernel.Float]() *sync.Pool {
	if kernel.IsFloat32[T]() {
		return &products32
	}
	return &products64
}

func borrowProduct[T kernel.Float]() *Product[T] {
	if x, ok := products[T]().Get().(*Product[T]); ok {
		return x
	}
	return new(Product[T])
}

func giveBackProduct[T kernel.Float](x *Product[T]) {
	*x = Product[T]{}
	products[T]().Put(x)
}

// finishColumns applies the epilogue to rows i0 to i1 and columns j0 to j1 of the matrix y with row stride
// ld, whose columns are the channels.
func finishColumns[T kernel.Float](e *elementwise.Epilogue[T], y []T, ld, i0, i1, j0, j1 int) {
	if e.IsNone() || i0 == i1 {
		return
	}
	if e.Scale == nil && e.Shift == nil && j1-j0 == ld { // the rows are contiguous
		e.Row(y[i0*ld:i1*ld], 0, i0*ld)
		return
	}
	rest := elementwise.Epilogue[T]{Add: e.Add, Act: e.Act, Slope: e.Slope, At: e.At}
	for i := i0; i < i1; i++ {
		at := i*ld + j0
		row := y[at:][:j1-j0]
		if e.Scale != nil {
			elementwise.BinaryInto(elementwise.OpMul, row, row, e.Scale[j0:j1])
		}
		if e.Shift != nil {
			elementwise.BinaryInto(elementwise.OpAdd, row, row, e.Shift[j0:j1])
		}
		rest.Row(row, 0, at)
	}
}

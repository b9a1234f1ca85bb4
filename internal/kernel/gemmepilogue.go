package kernel

import "sync"

// finished runs the product m with an epilogue, whose channels are the columns: the micro-kernels take
// up a shift and clipping below 0, what else there is follows when a part of C is complete.
func (m product[T]) finished(p *Pool, e Epilogue[T]) {
	x := borrowProduct[T]()
	defer giveBackProduct(x)
	*x = m
	if e.Scale == nil && e.Shift != nil {
		x.shift, e.Shift = e.Shift, nil
		if x.n%nr != 0 { // the micro-kernels read whole strips
			padded := Borrow[T](cdiv(x.n, nr) * nr)
			defer GiveBack(padded)
			clear((*padded)[copy(*padded, x.shift[:x.n]):])
			x.shift = *padded
		}
	}
	if e.plain() && e.Shift == nil {
		x.relu = e.Act.Kind == ActRelu
	} else {
		x.rest = e
		x.end = &x.rest
	}
	x.run(p)
}

// Products are kept between calls as workers are.
var products32, products64 sync.Pool // of *product[T], all zero

func products[T Float]() *sync.Pool {
	if single[T]() {
		return &products32
	}
	return &products64
}

func borrowProduct[T Float]() *product[T] {
	if x, ok := products[T]().Get().(*product[T]); ok {
		return x
	}
	return new(product[T])
}

func giveBackProduct[T Float](x *product[T]) {
	*x = product[T]{}
	products[T]().Put(x)
}

// finishColumns finishes rows i0 to i1 and columns j0 to j1 of the matrix y, whose rows are ld apart and
// whose columns are the channels.
func finishColumns[T Float](e *Epilogue[T], y []T, ld, i0, i1, j0, j1 int) {
	if e.none() || i0 == i1 {
		return
	}
	if e.Scale == nil && e.Shift == nil && j1-j0 == ld { // the rows lie together
		e.row(y[i0*ld:i1*ld], 0, i0*ld)
		return
	}
	rest := Epilogue[T]{Add: e.Add, Act: e.Act, Slope: e.Slope, At: e.At}
	for i := i0; i < i1; i++ {
		at := i*ld + j0
		row := y[at:][:j1-j0]
		if e.Scale != nil {
			binaryVV(OpMul, row, row, e.Scale[j0:j1])
		}
		if e.Shift != nil {
			binaryVV(OpAdd, row, row, e.Shift[j0:j1])
		}
		rest.row(row, 0, at)
	}
}

package std

import (
	"github.com/graft-ml/graft/internal/kernel"
	"github.com/graft-ml/graft/internal/kernel/elementwise"
	"github.com/graft-ml/graft/internal/kernel/matmul"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"gorgonia.org/tensor"
)

// packedRows is the number of rows up to which a product with a weight that stays the same is
// worth keeping the weight packed: with more, packing takes a few percent. Products of one or two
// rows do not pack.
const packedRows = 512

// weightProduct is a product whose right operand may be a weight.
type weightProduct[T kernel.Float] struct {
	product
	key any // of the packed weight
}

// weightKey identifies a packed form of a weight.
type weightKey struct {
	transposed bool
	k, n       int
}

func newWeightProduct[T kernel.Float](p product) weightProduct[T] {
	return weightProduct[T]{p, weightKey{p.transB, p.k, p.n}}
}

// run computes y = alpha·op(A)·op(B) + beta·y, finished by e, whose channels are the columns.
func (p *weightProduct[T]) run(x *op.Exec, a, b *tensor.Dense, beta float64, y []T, e elementwise.Epilogue[T]) {
	lda, ldb := p.leading()
	if p.m > 2 && p.m <= packedRows {
		pack := func() any {
			return matmul.Pack(pool(x), p.transB, p.k, p.n, dtype.Elems[T](b), ldb, make([]T, matmul.PackedLen(p.k, p.n)))
		}
		if w, ok := x.Packed(p.key, pack, b).(matmul.Packed[T]); ok {
			matmul.GemmPackedEpilogue(pool(x), p.transA, p.m, T(p.alpha), dtype.Elems[T](a), lda, w, T(beta), y, p.n, e)
			return
		}
	}
	matmul.GemmEpilogue(pool(x), p.transA, p.transB, p.m, p.n, p.k, T(p.alpha), dtype.Elems[T](a), lda, dtype.Elems[T](b), ldb, T(beta), y, p.n, e)
}

package std

import (
	"github.com/graft-ml/graft/internal/kernel"
	"github.com/graft-ml/graft/internal/kernel/matmul"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/epilogue"
	"gorgonia.org/tensor"
)

// stackedProduct multiplies stacks of matrices of shapes a and b, either transposed on request.
func stackedProduct(t op.DType, a, b []int, transA, transB bool) op.Kernel {
	s := newStack(a, b, transA, transB)
	if t.IsInteger() {
		return integerStack(s)
	}
	return stackWithEpilogue(t, s, epilogue.List{})
}

// stackPatterns: a shift, sum or activation after a single matrix product becomes its epilogue.
func stackPatterns(t op.DType, a, b []int, transA, transB bool) []op.Pattern {
	s := newStack(a, b, transA, transB)
	if s.batch != 1 {
		return nil
	}
	matrix := len(a) == 2 && len(b) == 2 // else the columns are not the axis of the channels
	return []op.Pattern{&epilogue.Host{DType: t, Channels: s.n, Affine: matrix, Slopes: true, Kernel: func(e epilogue.List) op.Kernel { return stackWithEpilogue(t, s, e) }}}
}

func stackWithEpilogue(t op.DType, s stack, e epilogue.List) op.Kernel {
	return perPrecision(t, floatStack[float32](s, e), floatStack[float64](s, e))
}

// stack is a batch of equal products; the i-th reads A and B at the given matrix numbers.
type stack struct {
	product
	batch int
	a, b  []int // matrix numbers by product; nil: see stepA
	stepA int   // difference of matrix numbers between products, if it is constant
	stepB int
}

func newStack(a, b []int, transA, transB bool) stack {
	ra, rb := len(a), len(b)
	s := stack{product: product{transA: transA, transB: transB, alpha: 1, m: a[ra-2], k: a[ra-1], n: b[rb-1]}}
	if transA {
		s.m, s.k = s.k, s.m
	}
	if transB {
		s.n = b[rb-2]
	}
	na, nb := dtype.Product(a[:ra-2]), dtype.Product(b[:rb-2])
	if nb == 1 && !transA && na > 0 { // one matrix B: the rows of all A at once
		s.m *= na
		s.batch = 1
		return s
	}
	to := broadcastSizes(a[:ra-2], b[:rb-2])
	s.batch = dtype.Product(to)
	switch {
	case na == s.batch && nb == s.batch:
		s.stepA, s.stepB = 1, 1
	case na == s.batch && nb == 1:
		s.stepA = 1
	case nb == s.batch && na == 1:
		s.stepB = 1
	default:
		s.a, s.b = broadcastIndex(a[:ra-2], to), broadcastIndex(b[:rb-2], to)
	}
	return s
}

// broadcastSizes returns the shape that two compatible shapes broadcast to.
func broadcastSizes(a, b []int) []int {
	if len(a) < len(b) {
		a, b = b, a
	}
	to := append([]int(nil), a...)
	for i, n := range b {
		if j := i + len(a) - len(b); to[j] == 1 {
			to[j] = n
		}
	}
	return to
}

// broadcastIndex returns, for every element of shape to, the index of the element of from that it repeats.
func broadcastIndex(from, to []int) []int {
	list := make([]int, dtype.Product(to))
	for i := range list {
		rest, at, stride := i, 0, 1
		for a := len(to) - 1; a >= 0; a-- {
			k := rest % to[a]
			rest /= to[a]
			if f := a - len(to) + len(from); f >= 0 {
				if from[f] != 1 {
					at += k * stride
				}
				stride *= from[f]
			}
		}
		list[i] = at
	}
	return list
}

// floatStack applies the epilogue e, which is possible for a single product only.
func floatStack[T kernel.Float](s stack, e epilogue.List) op.Kernel {
	lda, ldb := s.leading()
	sa, sb, sc := s.m*s.k, s.k*s.n, s.m*s.n
	w := newWeightProduct[T](s.product)
	return func(x *op.Exec, out, in []*tensor.Dense) error {
		a, b, y := dtype.Elems[T](in[0]), dtype.Elems[T](in[1]), dtype.Elems[T](out[0])
		switch {
		case s.batch == 1:
			w.run(x, in[0], in[1], 0, y, epilogue.Steps[T](x, e, s.n, nil, in))
		case s.a == nil:
			matmul.GemmBatch(pool(x), s.batch, s.transA, s.transB, s.m, s.n, s.k, 1, a, lda, s.stepA*sa, b, ldb, s.stepB*sb, 0, y, s.n, sc)
		default:
			for i := range s.batch {
				matmul.Gemm(pool(x), s.transA, s.transB, s.m, s.n, s.k, 1, a[s.a[i]*sa:], lda, b[s.b[i]*sb:], ldb, 0, y[i*sc:], s.n)
			}
		}
		return nil
	}
}

func integerStack(s stack) op.Kernel {
	lda, ldb := s.leading()
	sa, sb, sc := s.m*s.k, s.k*s.n, s.m*s.n
	return func(x *op.Exec, out, in []*tensor.Dense) error {
		release, err := x.Reserve(integerCopies(out, in))
		if err != nil {
			return err
		}
		defer release()
		a, err := int64s(pool(x), in[0])
		if err != nil {
			return err
		}
		b, err := int64s(pool(x), in[1])
		if err != nil {
			return err
		}
		y := kernel.Zeros[int64](pool(x), s.batch*sc)
		for i := range s.batch {
			ia, ib := i*s.stepA, i*s.stepB
			if s.a != nil {
				ia, ib = s.a[i], s.b[i]
			}
			integerProduct(pool(x), s.product, a[ia*sa:], lda, b[ib*sb:], ldb, y[i*sc:])
		}
		return storeInts(pool(x), out[0], y)
	}
}

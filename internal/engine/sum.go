package engine

import (
	"reflect"
	"slices"
	"strings"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/graft-ml/graft/internal/kernel"
	"github.com/graft-ml/graft/internal/kernel/elementwise"
	"github.com/graft-ml/graft/nn/dtype"
)

const (
	// maxTerms bounds the number of terms of a sum, because all of them are alive at once.
	maxTerms = 8
	// sumBlock is how many elements are added at a time: they stay in the first-level cache.
	sumBlock = 2048
	// sumGrain is the smallest number of elements per worker.
	sumGrain = 16384
)

// sum adds up any number of tensors of one shape, left to right.
type sum struct {
	n   int // elements
	run func(lo, hi int)
}

// collapse turns additions of equal shapes into sum steps and lets each absorb a sum that only it reads. Only one
// operand of an addition is absorbed, so that the result is bit-equal to that of separate additions.
func (b *builder) collapse() {
	for _, s := range b.steps {
		b.turn()
		for _, v := range s.in {
			b.turn()
			if v != nil {
				v.uses++
			}
		}
	}
	for _, s := range b.steps {
		b.turn()
		if !addsUp(s) {
			continue
		}
		s.kind = sumStep
		for k := range min(2, len(s.in)) {
			if k == 1 && len(s.in) != 2 {
				break // only a + chain is chain + a
			}
			v := s.in[k]
			if t := v.from; t != nil && t.kind == sumStep && v.uses == 1 && !v.root && len(t.in)+len(s.in)-1 <= maxTerms {
				s.in = append(slices.Clone(t.in), slices.Delete(slices.Clone(s.in), k, k+1)...)
				t.kind = deadStep
				break
			}
		}
	}
	b.steps = slices.DeleteFunc(b.steps, func(s *step) bool { return s.kind == deadStep })
}

// addsUp reports whether op is Gorgonia's Add or a Core with Key "sum", for floating-point numbers of one shape.
func addsUp(s *step) bool {
	switch {
	case s.kind == foreignStep && isAdd(s.op):
	case s.kind == kernelStep && s.core.Key == "sum" && len(s.out) == 1:
	default:
		return false
	}
	out := s.out[0]
	if out.kind != placed || out.dtype != tensor.Float32 && out.dtype != tensor.Float64 {
		return false
	}
	for _, v := range s.in {
		if v == nil || v.dtype != out.dtype || v.bytes < 0 || !slices.Equal(v.shape, out.shape) {
			return false
		}
	}
	return len(s.in) >= 2
}

// isAdd reports whether op is Gorgonia's elementwise addition, whose type is not exported.
func isAdd(op gorgonia.Op) bool {
	return reflect.TypeOf(op).String() == "gorgonia.elemBinOp" && strings.HasPrefix(op.String(), "+ ")
}

// newSum prepares the sum that step s computes.
func newSum(s *step) *sum {
	if s.out[0].dtype == tensor.Float32 {
		return sumOf[float32](s)
	}
	return sumOf[float64](s)
}

func sumOf[T kernel.Float](s *step) *sum {
	n := int(s.out[0].bytes) / int(s.out[0].dtype.Size())
	return &sum{n: n, run: func(lo, end int) {
		out := dtype.Slice[T](s.dout[0])
		for ; lo < end; lo += sumBlock {
			hi := min(lo+sumBlock, end)
			elementwise.Add(nil, out[lo:hi], dtype.Slice[T](s.din[0])[lo:hi], dtype.Slice[T](s.din[1])[lo:hi])
			for _, d := range s.din[2:] {
				elementwise.Add(nil, out[lo:hi], out[lo:hi], dtype.Slice[T](d)[lo:hi])
			}
		}
	}}
}

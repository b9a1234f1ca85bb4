package engine

import (
	"math"

	"github.com/graft-ml/graft/internal/kernel"
	"github.com/graft-ml/graft/internal/kernel/vector"
	"github.com/graft-ml/graft/nn/dtype"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// postpone moves bilinear values that are only passed on to the end of the schedule if their factors need less memory
// than they do: they are computed one after another in the same memory, after everything else has been checked. It
// returns them by value.
func (b *builder) postpone(o Options, m readings, values map[*gorgonia.Node]*value, stays map[*value]bool) map[*value]*step {
	wanted := map[*value]int{}
	for _, h := range o.Callbacks {
		b.turn()
		if v := values[h.Root]; v != nil {
			wanted[m.of(v)]++
		}
	}
	read := map[*value]bool{} // other than by views
	for _, s := range b.steps {
		b.turn()
		for _, v := range s.in {
			b.turn()
			if v != nil && !s.views() {
				read[m.of(v)] = true
			}
		}
	}
	lastPriority, moves := map[*value]*step{}, map[*step]bool{}
	for _, s := range b.steps {
		b.turn()
		if v := s.out[0]; s.product() && wanted[v] == 1 && !read[v] && !stays[v] && m.of(s.in[0]).held()+m.of(s.in[1]).held() < v.bytes {
			lastPriority[v], moves[s] = s, true
		} else if s.views() && lastPriority[m.of(s.in[0])] != nil {
			moves[s] = true
		}
	}
	var first, last []*step
	for _, s := range b.steps {
		b.turn()
		if moves[s] {
			last = append(last, s)
		} else {
			first = append(first, s)
		}
	}
	b.steps = append(first, last...)
	return lastPriority
}

// product reports whether s computes one bilinear value of two tensors of floating-point numbers.
func (s *step) product() bool {
	if s.kind != kernelStep || !s.core.Bilinear || len(s.in) < 2 || s.out[0] == nil || s.sides() {
		return false
	}
	for i, v := range s.in {
		if i > 1 && v == nil {
			continue
		}
		if i > 1 || v == nil || v.bytes < 0 || v.kind == heap || v.dtype != tensor.Float32 && v.dtype != tensor.Float64 {
			return false
		}
	}
	return true
}

// held returns how many bytes of the arena are needed to keep v.
func (v *value) held() int64 {
	if v.kind != placed {
		return 0
	}
	return v.bytes
}

// commit bounds the values that are computed after it.
func (s *step) commit(r Receiver, pool *kernel.Pool) error {
	for k, i := range s.lastPriority {
		if err := r.Check(i, nil, norm(pool, s.in[2*k].dense)*norm(pool, s.in[2*k+1].dense)); err != nil {
			return err
		}
	}
	return nil
}

// norm returns the Euclidean norm of d.
func norm(pool *kernel.Pool, d *tensor.Dense) float64 {
	if d.Dtype() == tensor.Float64 {
		return math.Sqrt(sumSquares(dtype.Slice[float64](d)))
	}
	x := dtype.Slice[float32](d)
	s := float64(vector.SumSq(pool, x))
	if !(s > 1e-30) || math.IsInf(s, 0) {
		s = sumSquares(x) // out of float32's range
	}
	return math.Sqrt(s)
}

func sumSquares[F float32 | float64](x []F) (s float64) {
	for _, v := range x {
		s += float64(v) * float64(v)
	}
	return s
}

package train

import (
	"math"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/graft-ml/graft/internal/kernel"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/optim"
	"gorgonia.org/tensor"
)

// update applies the rules to the gradients of the group and closes it. It returns the global
// norm of the gradients before clipping.
func (t *Trainer) update(total int) (float64, error) {
	if t.group.count == 0 {
		return 0, nil
	}
	defer t.handBack()
	scale := 1.0
	if t.c.accumulate() > 1 && t.group.weight > 0 && !t.group.sum {
		scale = 1 / t.group.weight
	}
	square := 0.0
	for _, p := range t.group.order {
		if s := t.params[p]; s.has {
			square += squares(s.grad)
		}
	}
	norm := scale * math.Sqrt(square)
	if !finite(norm) {
		err := t.diverged("the gradient has norm %v", norm)
		t.abandon()
		return norm, err
	}
	if c := t.c.ClipNorm; c > 0 && norm > c {
		scale *= c / (norm + 1e-6)
	}
	rate := t.rate(total)
	if err := t.each(func(p *nn.Param, s *state) error {
		if scale != 1 {
			add(s.grad, s.grad, scale, true)
		}
		h := optim.Hyper{Rate: rate * s.plan.rate, Step: s.n}
		if err := s.plan.rule.Step(p.Data, s.grad, s.slots, h); err != nil {
			return &op.Error{Stage: "train", Input: p.Name(), Err: err}
		}
		p.Changed()
		s.n++
		s.has = false
		return nil
	}); err != nil {
		return norm, err
	}
	t.progress.Step++
	t.average()
	t.group = group{order: t.group.order[:0]}
	return norm, nil
}

// parallelFrom is the number of elements from which parameters are updated by several
// goroutines: below, starting them costs more.
const parallelFrom = 1 << 18

// each calls f for the parameters that have a gradient. They are independent, so the result does
// not depend on the order.
func (t *Trainer) each(f func(*nn.Param, *state) error) error {
	size := 0
	for _, p := range t.group.order {
		size += p.Size()
	}
	workers := min(runtime.GOMAXPROCS(0), len(t.group.order))
	if size < parallelFrom || workers < 2 {
		for _, p := range t.group.order {
			if s := t.params[p]; s.has {
				if err := f(p, s); err != nil {
					return err
				}
			}
		}
		return nil
	}
	var next atomic.Int64
	var wg sync.WaitGroup
	errs := make([]error, workers)
	for w := range workers {
		wg.Go(func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= len(t.group.order) {
					return
				}
				p := t.group.order[i]
				if s := t.params[p]; s.has && errs[w] == nil {
					errs[w] = f(p, s)
				}
			}
		})
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// rate is the factor on the rule's rate for the coming update, of total in this run.
func (t *Trainer) rate(total int) float64 {
	r := 1.0
	if t.c.Schedule != nil {
		r = t.c.Schedule.At(t.progress.Step-t.Origin, total)
	}
	if t.c.Plateau != nil && t.tracker.plateau.Rate != 0 {
		r *= t.tracker.plateau.Rate
	}
	return r
}

// add adds factor·src to dst, or replaces dst by it.
func add(dst, src *tensor.Dense, factor float64, replace bool) {
	if dtype.Of(dst.Dtype()) == dtype.Float32 {
		addSlice(dtype.Slice[float32](dst), dtype.Slice[float32](src), float32(factor), replace)
	} else {
		addSlice(dtype.Slice[float64](dst), dtype.Slice[float64](src), factor, replace)
	}
}

func addSlice[F float32 | float64](dst, src []F, factor F, replace bool) {
	src = src[:len(dst)]
	switch {
	case replace && factor == 1:
		copy(dst, src)
	case replace:
		for i, x := range src {
			dst[i] = factor * x
		}
	case factor == 1:
		for i, x := range src {
			dst[i] += x
		}
	default:
		for i, x := range src {
			dst[i] += factor * x
		}
	}
}

// squares is the sum of the squares of all elements.
func squares(d *tensor.Dense) float64 {
	if dtype.Of(d.Dtype()) == dtype.Float32 {
		total, rest := 0.0, dtype.Slice[float32](d)
		for len(rest) > 0 {
			block := rest[:min(len(rest), 1<<12)]
			rest = rest[len(block):]
			s := float64(kernel.SumSq(nil, block))
			if !(s > 1e-30) || math.IsInf(s, 0) {
				s = sumSquares(block) // out of float32's range
			}
			total += s
		}
		return total
	}
	return sumSquares(dtype.Slice[float64](d))
}

// sumSquares keeps four sums, which a processor adds side by side.
func sumSquares[F float32 | float64](x []F) float64 {
	var s [4]float64
	n := len(x) &^ 3
	for i := 0; i < n; i += 4 {
		v := x[i : i+4 : i+4]
		a, b, c, d := float64(v[0]), float64(v[1]), float64(v[2]), float64(v[3])
		s[0] += a * a
		s[1] += b * b
		s[2] += c * c
		s[3] += d * d
	}
	for _, v := range x[n:] {
		s[0] += float64(v) * float64(v)
	}
	return (s[0] + s[1]) + (s[2] + s[3])
}

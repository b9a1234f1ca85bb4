package train

import (
	"errors"
	"math"
	"slices"
	"sync/atomic"

	"github.com/graft-ml/graft/internal/kernel"
	"github.com/graft-ml/graft/internal/kernel/vector"
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
	if t.c.Runtime != nil {
		return t.remoteUpdate(total)
	}
	if t.group.arrived {
		return t.arrived(), nil
	}
	if t.ranks != nil {
		if err := t.join(nil); err != nil {
			return 0, err
		}
	}
	defer t.handBack()
	scale := 1.0
	if !t.group.whole && t.group.weight > 0 && !t.group.sum {
		scale = 1 / t.group.weight
	}
	if t.c.OnGradient != nil {
		if err := t.ranks.agree(t.looked(scale)); err != nil {
			t.abandon()
			return 0, err
		}
		scale = 1
	}
	square := 0.0
	for _, p := range t.group.order {
		if s := t.params[p]; s.has {
			of := squares(s.grad, &t.blocks)
			if !finite(of) {
				err := t.diverged("the gradient of %s is not finite", p.Name())
				t.abandon()
				return of, t.ranks.everywhere(err)
			}
			square += of
		}
	}
	norm := scale * math.Sqrt(square)
	if !finite(norm) { // squares of float64 gradients have overflowed
		err := t.diverged("the gradient has norm %v", norm)
		t.abandon()
		return norm, t.ranks.everywhere(err)
	}
	if c := t.c.ClipNorm; c > 0 {
		scale *= min(1, c/(norm+1e-6))
	}
	rate := t.rate(total)
	if err := t.usable(rate, t.group.order); err != nil {
		t.abandon()
		return norm, err
	}
	undo, err := t.undo()
	if err != nil {
		t.abandon()
		return norm, err
	}
	err = t.each(func(p *nn.Param, s *state) error {
		if !t.mine(s) {
			s.n++
			return nil
		}
		if scale != 1 {
			add(s.grad, s.grad, scale, true)
		}
		return s.step(p, s.grad, rate)
	})
	if undo != nil || t.sharded() {
		err = t.ranks.agree(err)
	}
	if err != nil {
		if undo != nil {
			undo()
		}
		t.abandon()
		return norm, err
	}
	if t.sharded() {
		err = t.exchangeParams()
	}
	for _, p := range t.group.order {
		t.params[p].has = false
	}
	if err != nil {
		return norm, err
	}
	t.close()
	if t.ranks != nil {
		return norm, t.shared().settle(t.c.bucket())
	}
	return norm, nil
}

// close ends a group that was used for an update.
func (t *Trainer) close() {
	t.progress.Step++
	t.Micro += int(t.group.own.Batches)
	t.joint = t.group.own.Tally
	t.average()
	t.group = group{order: t.group.order}
}

// each calls f for the parameters that have a gradient, in parallel. They are independent, so that the
// result does not depend on the order. A parameter so large that it would keep one thread busy after the
// others are done is updated alone, if its rule is parallel.
func (t *Trainer) each(f func(*nn.Param, *state) error) error {
	pool := kernel.Default()
	least := leastAlone(t.group.order, pool.Threads())
	large := func(p *nn.Param, s *state) bool { return p.Size() >= least && spreads(s.plan.rule) }
	for _, p := range t.group.order {
		if s := t.params[p]; s.has && large(p, s) {
			if err := f(p, s); err != nil {
				return err
			}
		}
	}
	var next atomic.Int64
	errs := make([]error, pool.Threads())
	pool.Run(len(errs), func(_, w int) {
		for errs[w] == nil {
			i := int(next.Add(1)) - 1
			if i >= len(t.group.order) {
				return
			}
			p := t.group.order[i]
			if s := t.params[p]; s.has && !large(p, s) {
				errs[w] = f(p, s)
			}
		}
	})
	return errors.Join(errs...)
}

// leastAlone returns the size from which a parameter would keep one thread busy after the others are done with the rest.
func leastAlone(params []*nn.Param, threads int) int {
	size := 0
	for _, p := range params {
		size += p.Size()
	}
	return size / (2 * threads)
}

// spreads reports whether a rule uses all threads for one parameter.
func spreads(r optim.Rule) bool {
	switch r.(type) {
	case optim.SGD, optim.Adam, optim.AdamW:
		return true
	}
	return false
}

// rate returns the factor on the rule's rate for the next update, of total in this run.
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

// usable returns an error, before any parameter is updated, if the factor on the rate of one is negative or not finite, or the graph is no longer
// the one whose gradients were computed.
func (t *Trainer) usable(rate float64, params []*nn.Param) error {
	if err := t.unedited(); err != nil {
		return err
	}
	for _, p := range params {
		if r := rate * t.params[p].plan.rate; r < 0 || !finite(r) {
			return t.diverged("the schedule and the group of %s make the factor on its learning rate %v", p.Name(), r)
		}
	}
	return nil
}

// unedited returns an error if the graph was edited since the step began.
func (t *Trainer) unedited() error {
	if t.g.Version() == t.seen {
		return nil
	}
	return &op.Error{Stage: "train", Err: errors.New("a loss or a hook edited the graph during the step: edit it between steps, in OnStep for example")}
}

// add adds factor·src to dst, or replaces dst by it.
func add(dst, src *tensor.Dense, factor float64, replace bool) {
	if dtype.Of(dst.Dtype()) == dtype.Float32 {
		addSlice(dtype.Slice[float32](dst), dtype.Slice[float32](src), float32(factor), replace)
	} else {
		addSlice(dtype.Slice[float64](dst), dtype.Slice[float64](src), factor, replace)
	}
}

// addOnAllThreads is add on all threads, for callers outside of parallel loops.
func addOnAllThreads(dst, src *tensor.Dense, factor float64, replace bool) {
	if dtype.Of(dst.Dtype()) != dtype.Float32 {
		add(dst, src, factor, replace)
		return
	}
	x, y := dtype.Slice[float32](dst), dtype.Slice[float32](src)
	kernel.Default().Range(len(x), 1<<14, func(lo, hi int) { addSlice(x[lo:hi], y[lo:hi], float32(factor), replace) })
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
			dst[i] += F(factor * x) // rounded before the sum, as when summing over ranks
		}
	}
}

// squareBlock is the number of squares that are summed in the element type before they are added to the float64 sum.
const squareBlock = 1 << 12

// squares returns the sum of the squares of all elements. blocks is memory for the sums of blocks, which
// are added in order, independently of the number of threads.
func squares(d *tensor.Dense, blocks *[]float64) float64 {
	if dtype.Of(d.Dtype()) != dtype.Float32 {
		return sumSquares(dtype.Slice[float64](d))
	}
	x := dtype.Slice[float32](d)
	n := (len(x) + squareBlock - 1) / squareBlock
	sums := slices.Grow((*blocks)[:0], n)[:n]
	*blocks = sums
	kernel.Default().Range(n, 2, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			block := x[i*squareBlock : min(len(x), (i+1)*squareBlock)]
			s := float64(vector.SumSq(nil, block))
			if !(s > 1e-30) || math.IsInf(s, 0) {
				s = sumSquares(block) // outside float32's range
			}
			sums[i] = s
		}
	})
	total := 0.0
	for _, s := range sums {
		total += s
	}
	return total
}

// sumSquares uses four accumulators, for instruction-level parallelism.
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

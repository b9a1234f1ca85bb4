package train

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"unsafe"

	"github.com/graft-ml/graft/internal/direct"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/optim"
	"gorgonia.org/tensor"
)

// streamUpdate reports whether parameters are updated during the backward pass: once all gradients are known to be finite, those
// that take much memory are computed and used one after another. That is not possible if the update needs all gradients first.
func (t *Trainer) streamUpdate(d *binding, m microBatch) bool {
	return m.alone() && t.c.ClipNorm == 0 && !t.c.Whole && t.c.OnGradient == nil && d.apart
}

// apart reports whether the parameters can be updated one by one: no two share memory, so that no later
// gradient reads an updated value, and each rule uses all threads for one parameter.
func (t *Trainer) apart() bool {
	for _, s := range t.params {
		if !spreads(s.plan.rule) {
			return false
		}
	}
	return !t.overlap()
}

// overlap reports whether two parameters share memory.
func (t *Trainer) overlap() bool {
	data := make(nn.Grads, len(t.params))
	for p := range t.params {
		data[p] = direct.Data(p)
	}
	return len(overlapping(data)) > 0
}

// overlapping returns the parameters whose tensors lie in memory that another's tensor, which is not returned, uses as well:
// two biases that are added to the same sum have one gradient.
func overlapping(tensors nn.Grads) map[*nn.Param]bool {
	type span struct {
		p        *nn.Param
		from, to uintptr
	}
	spans := make([]span, 0, len(tensors))
	for p, d := range tensors {
		b := dtype.Bytes(d)
		from := uintptr(unsafe.Pointer(unsafe.SliceData(b)))
		spans = append(spans, span{p, from, from + uintptr(len(b))})
	}
	slices.SortFunc(spans, func(a, b span) int { return cmp.Compare(a.from, b.from) })
	var shared map[*nn.Param]bool
	end := uintptr(0)
	for _, s := range spans {
		if s.from < end && s.from < s.to {
			if shared == nil {
				shared = map[*nn.Param]bool{}
			}
			shared[s.p] = true
			continue
		}
		end = max(end, s.to)
	}
	return shared
}

// streamedUpdate updates parameters on the arrival of their gradients during a step.
type streamedUpdate struct {
	t      *Trainer
	d      *binding
	counts bool    // whether the batch has samples that are not ignored
	rate   float64 // of this step
	loss   float64
	square float64 // of the gradients' norm, or an upper bound
	taken  int     // number of updated parameters
}

// begin checks the loss before anything changes.
func (a *streamedUpdate) begin(loss float64) error {
	a.loss = loss
	if a.counts && !finite(loss) {
		return a.t.diverged("the loss is %v", loss)
	}
	return a.t.usable(a.rate, a.t.group.order)
}

// check fails the step before anything changes if a gradient, or the next value of a statistic, is not finite. For a gradient
// that is computed later, bound is an upper bound; since it is not tight, its limit is far below the largest float32.
func (a *streamedUpdate) check(p *nn.Param, x *tensor.Dense, bound float64) error {
	o := a.d.origin[p]
	s := a.t.params[o]
	if !a.counts || s == nil && a.t.stats[o] == nil {
		return nil
	}
	square := bound
	if x != nil {
		square = squares(x, &a.t.blocks)
	}
	switch {
	case s == nil && !finite(square):
		return a.t.diverged("the statistic %s is not finite", o.Name())
	case !finite(square):
		return a.t.diverged("the gradient of %s is not finite", o.Name())
	case x == nil && bound > largest[s.typ]:
		return a.t.diverged("the gradient of %s may be as large as %.3g", o.Name(), bound)
	case s == nil:
		return nil
	}
	s.square, s.has = square, x != nil
	if x == nil {
		square = bound * bound * float64(p.Size())
	}
	if a.square += square; !finite(a.square) {
		return a.t.diverged("the gradient has norm %v", math.Sqrt(a.square))
	}
	return nil
}

// largest limits the bounds of gradients that are computed after the check. Intermediate sums, including those of
// Winograd transforms, are below 10⁸ times the bound.
var largest = map[op.DType]float64{dtype.Float32: 1e30, dtype.Float64: 1e300}

// take updates one parameter, or stores the next value of a statistic.
func (a *streamedUpdate) take(p *nn.Param, x *tensor.Dense) error {
	o := a.d.origin[p]
	if !a.counts {
		return nil // all samples are ignored
	}
	if a.t.stats[o] != nil {
		assign(direct.Data(o), x)
		o.Changed()
	}
	s := a.t.params[o]
	if s == nil {
		return nil
	}
	if !s.has {
		s.square, s.has = squares(x, &a.t.blocks), true
	}
	if err := s.step(o, x, a.rate); err != nil {
		return err
	}
	a.taken++
	return nil
}

// failed adds to the error of a step how many parameters were updated. Only a bug in an operator or a rule can fail after the check.
func (a *streamedUpdate) failed(err error) error {
	if a.taken == 0 {
		return halted{err}
	}
	return fmt.Errorf("%w; %d of %d parameters were already updated: continue from a checkpoint, or set Config.Whole to update only after all gradients", err, a.taken, len(a.d.params))
}

// step applies the rule to one parameter. Grad is overwritten.
func (s *state) step(p *nn.Param, grad *tensor.Dense, rate float64) error {
	h := optim.Hyper{Rate: rate * s.plan.rate, Step: s.n}
	if err := s.plan.rule.Step(direct.Data(p), grad, s.slots, h); err != nil {
		return &op.Error{Stage: "train", Param: p.Name(), Err: err}
	}
	p.Changed()
	s.n++
	return nil
}

// arrived closes a group whose parameters were updated on arrival, and returns the norm of its gradients.
func (t *Trainer) arrived() float64 {
	square := 0.0
	for _, p := range t.group.order {
		if s := t.params[p]; s.has {
			square += s.square
			s.has = false
		}
	}
	t.close()
	return math.Sqrt(square)
}

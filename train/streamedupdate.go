package train

import (
	"cmp"
	"math"
	"slices"
	"unsafe"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/optim"
	"gorgonia.org/tensor"
)

// onArrival says whether a parameter is updated as soon as its gradient is there, so that the memory
// of the gradient serves the next one: where nothing has to be known of all gradients before.
func (t *Trainer) onArrival(d *binding, accumulate int) bool {
	return accumulate == 1 && t.c.ClipNorm == 0 && !t.c.Whole && d.apart
}

// apart says whether the parameters can be updated one by one: no two share memory, so that nothing
// reads what is already new, and each rule uses all threads for one parameter.
func (t *Trainer) apart() bool {
	type span struct{ from, to uintptr }
	var spans []span
	for p, s := range t.params {
		if !spreads(s.plan.rule) {
			return false
		}
		b := dtype.Bytes(p.Data)
		from := uintptr(unsafe.Pointer(unsafe.SliceData(b)))
		spans = append(spans, span{from, from + uintptr(len(b))})
	}
	slices.SortFunc(spans, func(a, b span) int { return cmp.Compare(a.from, b.from) })
	for i := range spans[1:] {
		if spans[i+1].from < spans[i].to {
			return false
		}
	}
	return true
}

// arrival updates parameters during a step.
type arrival struct {
	t      *Trainer
	d      *binding
	counts bool    // the batch has samples that count
	rate   float64 // of this step
	loss   float64
}

// begin sees the loss before anything changes.
func (a *arrival) begin(loss float64) error {
	a.loss = loss
	if a.counts && !finite(loss) {
		return a.t.diverged("the loss is %v", loss)
	}
	return nil
}

// take updates one parameter, or puts down the next value of a statistic.
func (a *arrival) take(p *nn.Param, x *tensor.Dense) error {
	o := a.d.origin[p]
	if !a.counts {
		return nil // a mean over nothing
	}
	if a.t.stats[o] != nil {
		assign(o.Data, x)
		o.Changed()
	}
	s := a.t.params[o]
	if s == nil {
		return nil
	}
	s.square = squares(x, &a.t.blocks)
	if !finite(s.square) {
		return a.t.stopped("the gradient of "+o.Name()+" is not finite", "parameters behind it have taken this step, the others keep their values")
	}
	s.has = true
	return s.step(o, x, a.rate)
}

// step applies the rule to one parameter. Grad is overwritten.
func (s *state) step(p *nn.Param, grad *tensor.Dense, rate float64) error {
	h := optim.Hyper{Rate: rate * s.plan.rate, Step: s.n}
	if err := s.plan.rule.Step(p.Data, grad, s.slots, h); err != nil {
		return &op.Error{Stage: "train", Input: p.Name(), Err: err}
	}
	p.Changed()
	s.n++
	return nil
}

// arrived closes a group whose parameters were updated on arrival and returns the norm of its gradients.
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

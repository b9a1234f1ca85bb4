package nn

import (
	"context"
	"errors"

	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"gorgonia.org/tensor"
)

func typeOf(x dtype.Value) op.Type { return op.TypeOf(x) }

const optionalKind = op.Optional

// StepOptions say what one training or evaluation step computes.
type StepOptions struct {
	Loss   *Value   // a value of rank 0 that is differentiated; nil: no gradients
	Params []*Param // parameters to differentiate for; nil: all trainable ones
	Want   []*Value // values to return
	Train  bool     // batch statistics and dropout
	Seed   uint64   // of random operators, together with Count
	Count  uint64   // the number of the step

	// Take, if set, gets what is otherwise in Step.Grads and Step.States while the step runs: each
	// gradient and each next value of a statistic when nothing will read the parameter any
	// more, so that Take may change its elements. It may also overwrite x, which is valid until it
	// returns. Begin, which must be set too, gets the loss before. Check is called between
	// Begin and the first Take for each of them: with x, or, where x is computed later, with x nil and a bound on the
	// absolute values of its elements, NaN if it has none. An error of any of the three ends the step.
	// From the first Take on the context does not end it. Without a Check, Take gets each x as soon as it is computed, in
	// the order of the backward pass; it must change neither x nor a parameter then, and the context may end the step later.
	Take  func(p *Param, x *tensor.Dense) error
	Begin func(loss float64) error                             // is told the loss before the first gradient; an error ends the step
	Check func(p *Param, x *tensor.Dense, bound float64) error // is given each gradient, or a bound of its elements, before any is handed over; an error ends the step
}

// StepResult is what a step computed. Its tensors are the engine's memory: use them before Release.
type StepResult struct {
	Loss   float64                  // 0 without one
	Grads  Grads                    // by parameter; nil where the loss does not depend on it
	Values []dtype.Value            // those that StepOptions asks for, in its order
	States map[*Param]*tensor.Dense // the values that running statistics take after the step

	done func()
}

// Grads are gradients by parameter.
type Grads map[*Param]*tensor.Dense

// Release gives the memory of the step's tensors back to the engine.
func (s *StepResult) Release() {
	if s.done != nil {
		s.done()
	}
}

// Step runs the graph forward, and backward if there is a loss, without copying what it
// computes. Trainers call it; to assign the States is up to them.
func (g *Graph) Step(ctx context.Context, in Feed, o StepOptions) (*StepResult, error) {
	if err := g.edited("run"); err != nil {
		return nil, err
	}
	g.mu.RLock()
	defer g.mu.RUnlock()
	params := o.Params
	if params == nil && o.Loss != nil {
		for _, p := range g.params() {
			if p.Trainable() {
				params = append(params, p)
			}
		}
	}
	r := request{want: o.Want, train: o.Train, seed: [2]uint64{o.Seed, o.Count}, borrow: o.Take == nil}
	if o.Loss != nil {
		r.loss = o.Loss
		r.want = append(append([]*Value(nil), o.Want...), o.Loss)
		for _, p := range params {
			if p == nil {
				return nil, &Error{Stage: "gradient", Err: errors.New("a parameter is nil")}
			}
			r.wrt = append(r.wrt, p.value)
		}
	}
	feed, err := g.feed(in, r.want)
	if err != nil {
		return nil, err
	}
	r.check = o.Check
	if r.take = o.Take; r.take != nil {
		r.begin = func(loss dtype.Value) error {
			x, err := lossOf(o.Loss, loss)
			if err != nil {
				return err
			}
			return o.Begin(x)
		}
	}
	res, err := g.exec(ctx, feed, r)
	if err != nil {
		return nil, err
	}
	s := &StepResult{Grads: Grads{}, Values: res.values, States: res.updates, done: res.done}
	if o.Loss != nil {
		last := len(res.values) - 1
		s.Values = res.values[:last]
		if s.Loss, err = lossOf(o.Loss, res.values[last]); err != nil {
			return nil, err
		}
		for i, p := range params {
			if i < len(res.grads) && res.grads[i] != nil {
				s.Grads[p] = res.grads[i]
			}
		}
	}
	if r.take != nil && !res.taken {
		return s, s.handOver(o, params)
	}
	return s, nil
}

// lossOf is the loss as a number.
func lossOf(v *Value, x dtype.Value) (float64, error) {
	d, ok := x.(*tensor.Dense)
	if !ok {
		return 0, &Error{Stage: "run", Input: v.name, Want: "a tensor of rank 0", Got: v.typ}
	}
	f, err := dtype.Float64s(d)
	if err != nil {
		return 0, err
	}
	return f[0], nil
}

// handOver hands over after the step what could not be handed over during it.
func (s *StepResult) handOver(o StepOptions, params []*Param) error {
	if err := o.Begin(s.Loss); err != nil {
		return err
	}
	each := func(f func(p *Param, d *tensor.Dense) error) error {
		for _, p := range params {
			if d := s.Grads[p]; d != nil {
				if err := f(p, d); err != nil {
					return err
				}
			}
		}
		for p, d := range s.States {
			if err := f(p, d); err != nil {
				return err
			}
		}
		return nil
	}
	if o.Check != nil {
		if err := each(func(p *Param, d *tensor.Dense) error { return o.Check(p, d, 0) }); err != nil {
			return err
		}
	}
	if err := each(o.Take); err != nil {
		return err
	}
	s.Grads, s.States = Grads{}, nil
	return nil
}

package nn

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"gorgonia.org/tensor"
)

func typeOf(x dtype.Value) op.Type { return op.TypeOf(x) }

const optionalKind = op.Optional

// StepOptions are the settings of Graph.Step, which computes one training or evaluation step.
type StepOptions struct {
	Loss   *Value   // a value of rank 0 to differentiate; nil: no gradients
	Params []*Param // parameters to differentiate with respect to; nil: all trainable ones
	Want   []*Value // values to return
	Train  bool     // batch statistics and dropout are on
	Seed   uint64   // seed of random operators, together with Count
	Count  uint64   // number of the step

	// Take, if set, is called during the step with what would otherwise be in StepResult.Grads and States: each gradient,
	// and each next value of a statistic, as soon as nothing will read the parameter any more, so that Take may change the
	// parameter. It may also overwrite x, which is valid until it returns. Begin, which must be set too, is called with the
	// loss before. Check is called between Begin and the first Take for each of them: with x, or, if x is computed later,
	// with x nil and a bound on the absolute values of its elements, NaN if there is none. An error from any of the three
	// ends the step. The context is ignored from the first Take on. Without a Check, Take is called as soon as each x is
	// computed, in the order of the backward pass; it must then change neither x nor a parameter, and the context may still
	// end the step.
	Take  func(p *Param, x *tensor.Dense) error
	Begin func(loss float64) error                             // called with the loss before the first gradient; an error ends the step
	Check func(p *Param, x *tensor.Dense, bound float64) error // called for each gradient, or with a bound on its elements, before the first Take; an error ends the step
}

// StepResult is the result of Graph.Step. Its tensors are memory of the engine, valid until Release.
type StepResult struct {
	Loss   float64                  // 0 without a loss
	Grads  Grads                    // by parameter; nil if the loss does not depend on it
	Values []dtype.Value            // of StepOptions.Want, in its order
	States map[*Param]*tensor.Dense // the values that running statistics have after the step

	done     func()
	released atomic.Bool
}

// Grads holds gradients by parameter. Those that are equal may share memory.
type Grads map[*Param]*tensor.Dense

// Release returns the memory of the tensors to the engine, once.
func (s *StepResult) Release() {
	if s.done != nil && s.released.CompareAndSwap(false, true) {
		s.done()
	}
}

// Step runs the graph forward, and backward if there is a loss, without copying the results. Trainers call it. It does
// not change the running statistics: the caller assigns StepResult.States.
func (g *Graph) Step(ctx context.Context, in Feed, o StepOptions) (*StepResult, error) {
	if err := g.edited("run"); err != nil {
		return nil, err
	}
	defer g.locked().unlock()
	params := o.Params
	if params == nil && o.Loss != nil {
		for _, p := range g.params() {
			if p.trainable() {
				params = append(params, p)
			}
		}
	}
	r := request{want: o.Want, train: o.Train, seed: [2]uint64{o.Seed, o.Count}, borrow: o.Take == nil}
	if o.Loss != nil {
		r.of = []*Value{o.Loss}
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
	s := &StepResult{Grads: Grads{}, Values: res.values, States: map[*Param]*tensor.Dense{}, done: res.done}
	for v, d := range res.next {
		if v.param != nil {
			s.States[v.param] = d
		}
	}
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
		return s, s.passGradients(o, params)
	}
	return s, nil
}

// lossOf returns the loss as a number.
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

// passGradients calls the callbacks after the step for the gradients that could not be passed during it.
func (s *StepResult) passGradients(o StepOptions, params []*Param) error {
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

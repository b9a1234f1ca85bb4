package nn

import (
	"context"

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
}

// Step is what a step computed. Its tensors are the engine's memory: use them before Release.
type Step struct {
	Loss   float64
	Grads  Grads // by parameter; nil where the loss does not depend on it
	Values []dtype.Value
	States map[*Param]*tensor.Dense // the values that running statistics take after the step

	done func()
}

// Grads are gradients by parameter.
type Grads map[*Param]*tensor.Dense

// Release gives the memory of the step's tensors back to the engine.
func (s *Step) Release() { s.done() }

// Step runs the graph forward, and backward if there is a loss, without copying what it
// computes. Trainers call it; to assign the States is up to them.
func (g *Graph) Step(ctx context.Context, in Feed, o StepOptions) (*Step, error) {
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
	r := request{want: o.Want, train: o.Train, seed: [2]uint64{o.Seed, o.Count}, borrow: true}
	if o.Loss != nil {
		r.loss = o.Loss
		r.want = append(append([]*Value(nil), o.Want...), o.Loss)
		for _, p := range params {
			r.wrt = append(r.wrt, p.value)
		}
	}
	feed, err := g.feed(in, r.want)
	if err != nil {
		return nil, err
	}
	r.unchecked = !g.complete(feed)
	res, err := g.exec(ctx, feed, r)
	if err != nil {
		return nil, err
	}
	s := &Step{Grads: Grads{}, Values: res.values, States: res.updates, done: res.done}
	if o.Loss != nil {
		last := len(res.values) - 1
		s.Values = res.values[:last]
		d, ok := res.values[last].(*tensor.Dense)
		if !ok {
			return nil, &Error{Stage: "run", Input: o.Loss.name, Want: "a tensor of rank 0", Got: o.Loss.typ}
		}
		x, err := dtype.Float64s(d)
		if err != nil {
			return nil, err
		}
		s.Loss = x[0]
		for i, p := range params {
			if i < len(res.grads) && res.grads[i] != nil {
				s.Grads[p] = res.grads[i]
			}
		}
	}
	return s, nil
}

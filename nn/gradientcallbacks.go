package nn

import (
	"context"

	"github.com/graft-ml/graft/internal/engine"
	"github.com/graft-ml/graft/nn/dtype"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// gradientCallbacks describes how the gradients of a stage are passed on during a run.
type gradientCallbacks struct {
	lossReady *gorgonia.Node            // the loss, after which gradients are passed on; nil: the stage has no callbacks
	nodes     map[*Param]*gorgonia.Node // the only node through which a parameter is read
}

// hasCallbacks reports whether a run for r passes on gradients and updates.
func (st *stage) hasCallbacks(r request) bool { return r.take != nil && st.callbacks.lossReady != nil }

// variant returns how a program for r is compiled.
func (r request) variant(hands bool) variant {
	return variant{hands: hands, eager: hands && r.check == nil, private: !r.borrow}
}

// callbackList returns what is passed on: gradients by st.wrt, then updates.
func (st *stage) callbackList() (list []engine.GradientCallback) {
	st.passedOn(func(p *Param, n *gorgonia.Node) {
		list = append(list, engine.GradientCallback{Root: n, After: st.callbacks.nodes[p]})
	})
	return list
}

// passedOn calls f for everything that is passed on.
func (st *stage) passedOn(f func(p *Param, n *gorgonia.Node)) {
	for i, n := range st.grads {
		if n != nil {
			f(st.wrt[i].param, n)
		}
	}
	for _, u := range st.updates {
		f(u.param, u.node)
	}
}

// receiver receives what a program of the stage hands over.
type receiver struct {
	params  []*Param // by callback
	loss    func() (dtype.Value, error)
	request request
}

func (st *stage) receiver(p *engine.Program, r request) *receiver {
	x := &receiver{request: r, loss: func() (dtype.Value, error) { return st.value(context.Background(), p, r.of[0], borrowed) }}
	st.passedOn(func(p *Param, _ *gorgonia.Node) { x.params = append(x.params, p) })
	return x
}

// Begin implements engine.Receiver.
func (x *receiver) Begin() error {
	loss, err := x.loss()
	if err != nil {
		return err
	}
	return x.request.begin(loss)
}

// Check implements engine.Receiver.
func (x *receiver) Check(i int, d *tensor.Dense, bound float64) error {
	return x.request.check(x.params[i], d, bound)
}

// Take implements engine.Receiver.
func (x *receiver) Take(i int, d *tensor.Dense) error {
	return x.request.take(x.params[i], d)
}

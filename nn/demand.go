package nn

import (
	"errors"

	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
)

// demand is the value of v when it can be told before anything runs: because it is at hand, or
// because a short calculation on small values at hand gives it.
func (w *walker) demand(v *Value) (dtype.Value, bool, error) {
	b := w.at(v)
	if b == nil {
		return nil, false, nil
	}
	if b.known.Value != nil {
		return b.known.Value, true, nil
	}
	if b.known.Dims != nil {
		if d, ok := op.DimsValue(b.known.Dims, b.typ); ok {
			return d, true, nil
		}
	}
	if x, ok := w.have[v]; ok {
		w.spec[v] = x
		b.known.Value = x
		return x, true, nil
	}
	if v.param != nil {
		b.known.Value = v.param.Tensor()
		return b.known.Value, true, nil
	}
	budget := 256
	if v.producer == nil || !w.derivable(v, &budget, map[*Value]bool{}) {
		return nil, false, nil
	}
	x, err := w.derive(v)
	return x, err == nil, err
}

// derivable says whether v follows from values at hand of at most budget elements in total.
func (w *walker) derivable(v *Value, budget *int, seen map[*Value]bool) bool {
	if seen[v] {
		return true
	}
	seen[v] = true
	b := w.at(v)
	if b == nil {
		return false
	}
	if b.known.Value != nil || b.known.Dims != nil || v.param != nil {
		return true
	}
	if x, ok := w.have[v]; ok {
		*budget -= x.Size()
		return *budget >= 0
	}
	if v.producer == nil || v.producer.op == nil || v.producer.op.Random {
		return false
	}
	for _, x := range v.producer.reads() {
		if x != nil && !w.derivable(x, budget, seen) {
			return false
		}
	}
	return true
}

func (w *walker) derive(v *Value) (dtype.Value, error) {
	b := w.at(v)
	if b.known.Value != nil {
		return b.known.Value, nil
	}
	if x, ok, err := w.demandLeaf(v); ok || err != nil {
		return x, err
	}
	n := v.producer
	in := n.reads()
	for _, x := range in {
		if x == nil {
			continue
		}
		val, err := w.derive(x)
		if err != nil {
			return nil, err
		}
		w.at(x).known.Value = val
	}
	c := w.call(n, in)
	if err := c.Resolve(); err != nil {
		return nil, located("lower", n, err)
	}
	known := make([]op.Known, len(n.out))
	if err := w.fold(c, known); err != nil {
		return nil, located("lower", n, err)
	}
	for i, o := range n.out {
		if o != nil {
			w.at(o).known.Value = known[i].Value
		}
	}
	return b.known.Value, nil
}

func (w *walker) demandLeaf(v *Value) (dtype.Value, bool, error) {
	if _, ok := w.have[v]; ok || v.producer == nil || w.at(v).known.Dims != nil {
		return w.demand(v)
	}
	return nil, false, nil
}

func (w *walker) deferNode(n *Node) error {
	if w.mode == walkInfer {
		w.bindDeclared(n)
		return nil
	}
	w.deferred = append(w.deferred, n)
	w.waiting[n] = true
	return nil
}

// deferredError says what the first deferred node is waiting for.
func (w *walker) deferredError() error {
	for _, n := range w.deferred {
		for _, v := range n.reads() {
			if err := w.demanded[v]; err != nil {
				return err
			}
		}
	}
	n := w.deferred[0]
	return &Error{Stage: "lower", Op: n.opType, Node: n.Label(), Err: errors.New("an input is not computed")}
}

package nn

import (
	"errors"

	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"gorgonia.org/gorgonia"
)

// partGradients emits the gradients of the last value that a Gradient node names with respect to the first ones. in
// has a node for each of these: the part of the graph between them is emitted once more, on those nodes. If they are
// the values themselves, the engine merges both.
func (w *walker) partGradients(n *Node, in gorgonia.Nodes) (gorgonia.Nodes, error) {
	last := len(n.captured) - 1
	y, given := n.captured[last], n.captured[:last]
	xs := given[:len(n.out)]
	if len(in) < len(given) || len(given) == 0 || in[0] == nil {
		return nil, errors.New("has no node for a value that it differentiates with respect to")
	}
	ask := lowering{g: w.g, mode: w.mode, train: w.train, ctx: w.ctx, wrt: xs, of: []*Value{y}, expr: in[0].Graph(), suffix: w.suffix, bound: map[*Value]*binding{}}
	if ask.expr == w.expr {
		ask.outerKey = w.keyNode
	}
	for v, b := range w.env {
		if _, at := w.have[v]; v.producer == nil || at {
			c := *b
			if ask.expr != w.expr {
				c.node = nil // the call is being folded, in a separate graph
			}
			ask.bound[v] = &c
		}
	}
	for i, v := range given {
		if in[i] == nil || w.at(v) == nil {
			return nil, &Error{Stage: "lower", Input: v.name, Err: errors.New("has no value")}
		}
		ask.bound[v] = &binding{typ: w.at(v).typ, node: in[i]}
	}
	part, err := ask.lower()
	if err != nil {
		return nil, err
	}
	w.adopt(part)
	grads := part.grads
	for i, d := range grads {
		if d == nil { // y does not depend on it
			if grads[i], err = constLike(part.expr, part.at(xs[i]).typ, 0); err != nil {
				return nil, err
			}
		}
	}
	return grads, nil
}

// adopt takes over the inputs that a part has created in the same expression graph.
func (w *walker) adopt(part *walker) {
	if part.expr != w.expr {
		return
	}
	for p, node := range part.params {
		w.params[p] = node
		w.at(p.value).node = node
	}
}

// constLike returns a constant of type t whose elements are all x.
func constLike(g *gorgonia.ExprGraph, t op.Type, x float64) (*gorgonia.Node, error) {
	n, err := dtype.Count(t.Sizes())
	if err != nil {
		return nil, err
	}
	data := make([]float64, n)
	for i := range data {
		data[i] = x
	}
	d, err := dtype.FromFloats(t.DType, data, t.Sizes()...)
	if err != nil {
		return nil, err
	}
	return op.Const(g, d)
}

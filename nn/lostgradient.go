package nn

import (
	"errors"
	"slices"

	"github.com/graft-ml/graft/nn/op"
	"gorgonia.org/gorgonia"
)

// influenced returns the given values and those that depend on them with a derivative that may not be zero.
func (g *Graph) influenced(by []*Value) map[*Value]bool {
	if len(by) == 0 {
		return nil
	}
	set := map[*Value]bool{}
	for _, v := range by {
		set[v] = true
	}
	influence(g.nodes(), set)
	return set
}

// influence adds to set the values that nodes compute from values of the set.
func influence(nodes []*Node, set map[*Value]bool) {
	for _, n := range nodes {
		straight := n.traits().StraightThrough // see quantizeRule
		if n.op != nil && n.op.NoGrad != "" && !straight || !slices.ContainsFunc(n.reads(), func(v *Value) bool { return set[v] }) {
			continue
		}
		for _, v := range n.out {
			if v != nil && (straight || v.typ.Kind != op.Tensor || !v.typ.Present() || v.typ.DType.IsFloat()) {
				set[v] = true
			}
		}
	}
}

// keepsGradient reports whether a node remains in the expression graph although all its inputs are
// known, because a requested gradient passes through it.
func (w *walker) keepsGradient(n *Node, c *op.Call) bool {
	return c.Op.Grad != nil && slices.ContainsFunc(n.out, func(v *Value) bool { return w.influenced[v] }) &&
		slices.ContainsFunc(n.reads(), func(v *Value) bool { return w.influenced[v] && w.lost[v] == nil })
}

// loses records that no gradient passes through a node, because it was computed ahead of the expression
// graph. This is an error if such a gradient is requested, see lostGradient.
func (w *walker) loses(n *Node, c *op.Call) {
	if c.Op.NoGrad != "" || !slices.ContainsFunc(n.reads(), func(v *Value) bool { return w.influenced[v] }) {
		return
	}
	why := c.Op.GradMissing
	if why == "" {
		why = "it is computed before the expression graph is built, because the shape of its result depends on values"
	}
	var lost error = &Error{Stage: "gradient", Kind: ErrUnsupported, Op: n.opType, Node: n.label(), Err: errors.New("has no gradient (" + why + ")")}
	for _, v := range n.reads() {
		if first := w.lost[v]; first != nil { // it was lost before
			lost = first
		}
	}
	for _, v := range n.out {
		if w.influenced[v] {
			w.lost[v] = lost
		}
	}
}

// lostGradient returns the error of the first node through which gradients of the given nodes cannot
// pass although they are requested.
func (w *walker) lostGradient(of gorgonia.Nodes) error {
	if len(w.lostNodes) == 0 {
		return nil
	}
	reached := reach(of)
	var first *gorgonia.Node
	for n := range w.lostNodes {
		if reached[n] && (first == nil || n.ID() < first.ID()) {
			first = n
		}
	}
	return w.lostNodes[first]
}

// askedFor returns the nodes with respect to which gradients are requested, and those that depend on them, also by what was computed ahead.
func (w *walker) askedFor(wrt []*Value) gorgonia.Nodes {
	var list gorgonia.Nodes
	for _, v := range wrt {
		if b := w.env[v]; b != nil && b.node != nil && w.influenced[v] {
			list = append(list, b.node)
		}
	}
	for n := range w.lostNodes {
		list = append(list, n)
	}
	return list
}

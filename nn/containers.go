package nn

import (
	"errors"

	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"gorgonia.org/gorgonia"
)

// takeApart handles a node that works on containers by tracking their items, so that gradients pass. It does nothing
// if a container is a whole value that is not available.
func (w *walker) takeApart(n *Node, c *op.Call, in []*Value) (done bool, err error) {
	items := make([]op.Item, len(in))
	for i, v := range in {
		if v == nil {
			continue
		}
		if items[i], err = w.itemOf(v); errors.Is(err, op.ErrWhole) {
			return false, nil
		} else if err != nil {
			return false, located("lower", n, err)
		}
	}
	out, err := c.Op.Items(c, items)
	for err != nil {
		if errors.Is(err, op.ErrWhole) {
			return false, nil
		}
		i, need := needs(err)
		if !need || in[i] == nil || c.Known[i].Value != nil {
			return false, located("lower", n, err)
		}
		x, ok, derr := w.demand(in[i])
		if derr != nil {
			return false, derr
		}
		if !ok {
			w.demanded[in[i]] = located("lower", n, err)
			return true, w.deferNode(n)
		}
		c.Known[i].Value = x
		out, err = c.Op.Items(c, items)
	}
	for i, v := range n.out {
		if v == nil || w.isGiven(v) {
			continue
		}
		b := &binding{typ: out[i].Type}
		switch {
		case b.typ.Kind != op.Tensor:
			b.item = &out[i]
		case out[i].Value != nil && (out[i].Node == nil || !b.typ.DType.IsFloat()):
			b.known.Value = out[i].Value
		default:
			if b.node, err = out[i].Node(); err != nil {
				return false, located("lower", n, err)
			}
		}
		w.env[v] = b
	}
	return true, nil
}

// itemOf returns a value in the form that operators on containers take.
func (w *walker) itemOf(v *Value) (op.Item, error) {
	b := w.at(v)
	switch {
	case b.item != nil:
		return *b.item, nil
	case b.typ.Kind == op.Tensor:
		return op.Item{Type: b.typ, Node: func() (*gorgonia.Node, error) { return w.nodeOf(v) }}, nil
	case b.known.Value == nil:
		return op.Item{}, op.ErrWhole
	}
	return op.ItemOf(b.known.Value, func(x dtype.Value) (*gorgonia.Node, error) {
		node, err := op.Const(w.expr, x)
		if lost := w.lost[v]; lost != nil && err == nil {
			w.lostNodes[node] = lost
		}
		return node, err
	})
}

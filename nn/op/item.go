package op

import (
	"context"
	"errors"

	"github.com/graft-ml/graft/nn/dtype"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// Item is a value during lowering: a tensor, or a container whose contents are known, so that gradients flow through
// them.
type Item struct {
	Type  Type                           // of the value
	Items []Item                         // contents of a sequence or optional
	Value dtype.Value                    // of a tensor that is known; nil: Node computes it
	Node  func() (*gorgonia.Node, error) // returns the node that computes it
}

// ErrWhole is returned by Op.Items if containers cannot be taken apart.
var ErrWhole = errors.New("the container cannot be taken apart")

// ItemOf returns the contents of a container whose value is known. lower makes nodes of them.
func ItemOf(v dtype.Value, lower func(v dtype.Value) (*gorgonia.Node, error)) (Item, error) {
	it := Item{Type: TypeOf(v)}
	var held []dtype.Value
	switch v := v.(type) {
	case *dtype.Sequence:
		held = v.Items
	case *dtype.Optional:
		if v.Item != nil {
			held = []dtype.Value{v.Item}
		}
	case *tensor.Dense, *dtype.Strings:
		it.Value = v
		it.Node = func() (*gorgonia.Node, error) { return lower(v) }
		return it, nil
	default:
		return it, ErrWhole
	}
	for _, x := range held {
		k, err := ItemOf(x, lower)
		if err != nil {
			return it, err
		}
		it.Items = append(it.Items, k)
	}
	return it, nil
}

// Pack returns the node of an item; a container is packed, by operators of ops, until ctx ends.
func (it Item) Pack(ctx context.Context, ops Set, g *gorgonia.ExprGraph) (*gorgonia.Node, error) {
	switch {
	case it.Node != nil:
		return it.Node()
	case it.Value != nil:
		return Const(g, it.Value)
	case len(it.Items) == 0 && it.Type.Elem == nil:
		return nil, errors.New("op: an item without a node, a value or a type")
	case len(it.Items) == 0 && it.Type.Kind == Optional:
		return Const(g, EmptyOptional(*it.Type.Elem))
	case len(it.Items) == 0:
		return Const(g, &dtype.Sequence{Elem: it.Type.Elem.DType})
	}
	nodes := make(gorgonia.Nodes, len(it.Items))
	for i, x := range it.Items {
		var err error
		if nodes[i], err = x.Pack(ctx, ops, g); err != nil {
			return nil, err
		}
	}
	c := &Call{Set: ops, Ctx: ctx}
	if it.Type.Kind == Optional {
		return c.Apply1(Plain("Optional"), nodes...)
	}
	return c.Apply1(Plain("SequenceConstruct"), nodes...)
}

// EmptyOptional returns an optional of the given type without a value.
func EmptyOptional(e Type) *dtype.Optional {
	o := &dtype.Optional{Elem: e.DType, Seq: e.Kind == Sequence}
	if o.Seq && e.Elem != nil {
		o.Elem = e.Elem.DType
	}
	return o
}

package std

import (
	"slices"

	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"gorgonia.org/gorgonia"
)

// itemPosition returns the position of input i among n elements; if it is absent, absent.
func itemPosition(c *op.Call, i, n, absent, limit int) (int, error) {
	if !c.Has(i) {
		return absent, nil
	}
	k, err := scalarOf(c, i)
	if err != nil {
		return 0, err
	}
	if k < -n || k >= limit {
		return 0, c.Errorf("position %d is outside of [%d, %d]", k, -n, limit-1)
	}
	if k < 0 {
		k += n
	}
	return k, nil
}

func sequenceAtItems(c *op.Call, in []op.Item) ([]op.Item, error) {
	n := len(in[0].Items)
	k, err := itemPosition(c, 1, n, n-1, n)
	if err != nil {
		return nil, err
	}
	return []op.Item{in[0].Items[k]}, nil
}

func sequenceInsertItems(c *op.Call, in []op.Item) ([]op.Item, error) {
	n := len(in[0].Items)
	k, err := itemPosition(c, 2, n, n, n+1)
	if err != nil {
		return nil, err
	}
	return []op.Item{{Type: c.Out[0], Items: slices.Insert(slices.Clone(in[0].Items), k, in[1])}}, nil
}

func sequenceEraseItems(c *op.Call, in []op.Item) ([]op.Item, error) {
	n := len(in[0].Items)
	if n == 0 {
		return nil, c.Errorf("the sequence has no element")
	}
	k, err := itemPosition(c, 1, n, n-1, n)
	if err != nil {
		return nil, err
	}
	return []op.Item{{Type: c.Out[0], Items: slices.Delete(slices.Clone(in[0].Items), k, k+1)}}, nil
}

func sequenceLengthItems(_ *op.Call, in []op.Item) ([]op.Item, error) {
	return []op.Item{{Type: op.Shaped(dtype.Int64), Value: dtype.Scalar(int64(len(in[0].Items)))}}, nil
}

// insertAxis inserts an axis of length 1.
func insertAxis(c *op.Call, n *gorgonia.Node, axis int) (*gorgonia.Node, error) {
	return c.ReshapeTo(n, slices.Insert(slices.Clone(op.NodeType(n).Shape), axis, op.D(1))...)
}

func concatItems(c *op.Call, in []op.Item) ([]op.Item, error) {
	cfg := c.Config.(ConcatFromSequenceConfig)
	nodes, err := nodesOf(in[0])
	if err != nil {
		return nil, err
	}
	if len(nodes) == 0 {
		return nil, c.Errorf("the sequence has no element")
	}
	if cfg.NewAxis {
		axis, err := c.Axis(cfg.Axis, len(op.NodeType(nodes[0]).Shape)+1)
		if err != nil {
			return nil, err
		}
		n, err := stackNodes(c, nodes, axis)
		if err != nil {
			return nil, err
		}
		return []op.Item{nodeItem(n)}, nil
	}
	n, err := c.Apply1(ConcatConfig{Axis: cfg.Axis}, nodes...)
	if err != nil {
		return nil, err
	}
	return []op.Item{nodeItem(n)}, nil
}

func splitItems(c *op.Call, in []op.Item) ([]op.Item, error) {
	x, err := in[0].Node()
	if err != nil {
		return nil, err
	}
	var split dtype.Value
	if c.Has(1) {
		if split, err = c.Value(1); err != nil {
			return nil, err
		}
	}
	axis, lengths, drop, err := splitLengths(c, c.In[0].Sizes(), split)
	if err != nil {
		return nil, err
	}
	out := op.Item{Type: c.Out[0]}
	if len(lengths) == 0 {
		return []op.Item{out}, nil
	}
	cut := splitAt
	if drop {
		cut = unstackNode
	}
	parts, err := cut(c, x, axis, lengths)
	if err != nil {
		return nil, err
	}
	pace := poolOf(c).Pace()
	out.Items = make([]op.Item, 0, len(parts))
	for _, n := range parts {
		pace.Did(partWork)
		out.Items = append(out.Items, nodeItem(n))
	}
	return []op.Item{out}, nil
}

// stackNodes puts nodes of equal shape after one another along a new axis. Where they have axes, these are joined along the one that follows the new
// one, or along the first, and the result takes the new shape: one node for all.
func stackNodes(c *op.Call, nodes gorgonia.Nodes, axis int) (*gorgonia.Node, error) {
	shape, want, pace := op.NodeType(nodes[0]).Shape, nodes[0].Shape(), poolOf(c).Pace()
	rank := len(shape)
	for i, n := range nodes {
		pace.Did(partWork)
		if !slices.Equal(n.Shape(), want) {
			return nil, c.Errorf("cannot stack shapes %v and %v", want, n.Shape())
		}
		if rank > 0 {
			continue
		}
		var err error
		if nodes[i], err = insertAxis(c, n, 0); err != nil {
			return nil, err
		}
	}
	at := axis
	if axis == rank {
		at = 0
	}
	n, err := c.Apply1(ConcatConfig{Axis: at}, nodes...)
	if err != nil || rank == 0 {
		return n, err
	}
	n, err = c.ReshapeTo(n, slices.Insert(slices.Clone(shape), at, op.D(len(nodes)))...)
	if err != nil || axis < rank {
		return n, err
	}
	return c.Apply1(TransposeConfig{Perm: inverse(toFront(rank + 1))}, n)
}

// unstackNode is the inverse of stackNodes: the slices of length 1 of an axis, without it.
func unstackNode(c *op.Call, x *gorgonia.Node, axis int, lengths []int) (gorgonia.Nodes, error) {
	shape := slices.Clone(op.NodeType(x).Shape)
	rank := len(shape)
	if rank == 1 {
		parts, err := splitAt(c, x, 0, lengths)
		pace := poolOf(c).Pace()
		for i := 0; i < len(parts) && err == nil; i++ {
			pace.Did(partWork)
			parts[i], err = c.ReshapeTo(parts[i])
		}
		return parts, err
	}
	if axis == rank-1 {
		var err error
		if x, err = c.Apply1(TransposeConfig{Perm: toFront(rank)}, x); err != nil {
			return nil, err
		}
		axis, shape = 0, slices.Insert(shape[:rank-1], 0, shape[rank-1])
	}
	each := shape[axis+1].Size
	x, err := c.ReshapeTo(x, slices.Replace(shape, axis, axis+2, op.Product(shape[axis:axis+2]))...)
	if err != nil {
		return nil, err
	}
	return splitAt(c, x, axis, slices.Repeat([]int{each}, len(lengths)))
}

// toFront is the permutation that moves the last of so many axes before the others.
func toFront(rank int) []int {
	perm := make([]int, rank)
	for i := range perm {
		perm[i] = (i + rank - 1) % rank
	}
	return perm
}

// mapItems emits the body once for each element.
func mapItems(c *op.Call, in []op.Item) ([]op.Item, error) {
	body := c.Config.(SequenceMapConfig).Body
	out := make([]op.Item, c.Outputs)
	for k := range out {
		out[k].Type = c.Out[k]
	}
	for i := range in[0].Items {
		nodes, types := make(gorgonia.Nodes, len(in)), make([]op.Type, len(in))
		for j, x := range in {
			if j < body.Inputs() && x.Type.Kind == op.Sequence {
				if len(x.Items) != len(in[0].Items) {
					return nil, c.Errorf("sequences have %d and %d elements", len(in[0].Items), len(x.Items))
				}
				x = x.Items[i]
			}
			if x.Node == nil {
				return nil, op.ErrWhole
			}
			var err error
			if nodes[j], err = x.Node(); err != nil {
				return nil, err
			}
			types[j] = x.Type
		}
		res, err := body.Lower(c.Scope(nodes[0].Graph()), nodes, types, make([]op.Known, len(in)))
		if _, needs := op.Needs(err); needs {
			return nil, op.ErrWhole // the body runs separately, on values
		} else if err != nil {
			return nil, err
		}
		if len(res) < len(out) {
			return nil, c.Errorf("the body gave %d outputs, want %d", len(res), len(out))
		}
		for k := range out {
			out[k].Items = append(out[k].Items, nodeItem(res[k]))
		}
	}
	return out, nil
}

// nodeItem returns a tensor that a node computes.
func nodeItem(n *gorgonia.Node) op.Item {
	return op.Item{Type: op.NodeType(n), Node: func() (*gorgonia.Node, error) { return n, nil }}
}

// nodesOf returns the nodes of the tensors that a sequence holds.
func nodesOf(it op.Item) (gorgonia.Nodes, error) {
	nodes := make(gorgonia.Nodes, len(it.Items))
	for i, x := range it.Items {
		if x.Node == nil {
			return nil, op.ErrWhole
		}
		var err error
		if nodes[i], err = x.Node(); err != nil {
			return nil, err
		}
	}
	return nodes, nil
}

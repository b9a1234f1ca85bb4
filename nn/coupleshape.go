package nn

import (
	"slices"

	"github.com/graft-ml/graft/nn/op"
)

// shapeReader leaves the axes free whose lengths are only used in shapes, and fixes those used in other computations.
func (a *analysis) shapeReader(n *Node, c *op.Call) {
	v, out := n.input(0), n.output(0)
	if out == nil {
		return
	}
	for x := range a.rank[v] {
		if at, ok := n.op.Traits.Lengths(c, x); ok && a.counted(out, at, map[*Value]bool{}) {
			a.pinAxis(a.first[v]+axisID(x), reason{node: n, axis: x, text: "reads its length for a calculation"})
		}
	}
}

// counted reports whether element at (-1: any) of an integer value is used otherwise than in shapes.
func (a *analysis) counted(v *Value, at int, seen map[*Value]bool) bool {
	if seen[v] {
		return false
	}
	seen[v] = true
	for _, o := range a.g.outputs {
		if o == v {
			return true
		}
	}
	for _, n := range v.users {
		if n.op == nil || n.bodies() != nil {
			return true
		}
		formal := n.op.In.List()
		for i, x := range n.in {
			if s, _ := op.At(formal, i); x != v || s.Role == op.Shape {
				continue
			}
			if n.op.Traits.Lengths != nil || i == 0 && !n.passes(at) {
				continue
			}
			for _, o := range n.out {
				if o == nil {
					continue
				}
				if o.typ.DType.IsFloat() || a.counted(o, -1, seen) {
					return true
				}
			}
		}
	}
	return false
}

// passes reports whether the node may select element at (-1: any) of input 0, a vector.
func (n *Node) passes(at int) bool {
	if at < 0 || n.op.Traits.Picks == nil || n.in[0].typ.Rank() != 1 {
		return true
	}
	index := n.op.Traits.Picks(n.call(), 0)
	return index == nil || slices.Contains(index, at)
}

package nn

import (
	"github.com/graft-ml/graft/nn/op"
)

// shapeReader lets the axes go whose lengths only shapes follow, and pins those that are computed with.
func (a *analysis) shapeReader(n *Node) {
	v, out := n.In(0), n.Out(0)
	if v == nil || out == nil {
		return
	}
	for x := range a.rank[v] {
		if a.counted(out, x, map[*Value]bool{}) {
			a.pinAxis(a.first[v]+axisID(x), reason{node: n, axis: x, text: "reads its length for a calculation"})
		}
	}
}

// counted says whether element at (-1: any) of an integer value goes into something else than shapes.
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
			next := -1
			switch n.opType {
			case "Gather":
				if c := a.intsOf(n, 1); at >= 0 && i == 0 && len(c) == 1 {
					if c[0] != at && c[0]+a.length(v) != at {
						continue
					}
				}
			case "Slice":
				if s, e := a.intsOf(n, 1), a.intsOf(n, 2); at >= 0 && i == 0 && len(s) == 1 && len(e) == 1 {
					lo, hi := s[0], e[0]
					if lo < 0 {
						lo += a.length(v)
					}
					if hi < 0 {
						hi += a.length(v)
					}
					if at < lo || at >= hi {
						continue
					}
				}
			case "ConstantOfShape", "Shape", "Size":
				continue
			}
			for _, o := range n.out {
				if o == nil {
					continue
				}
				if o.typ.DType.IsFloat() || a.counted(o, next, seen) {
					return true
				}
			}
		}
	}
	return false
}

func (a *analysis) length(v *Value) int {
	if len(v.typ.Shape) == 1 {
		return v.typ.Shape[0].Size
	}
	return 0
}

func (a *analysis) intsOf(n *Node, i int) []int {
	v := n.In(i)
	if v == nil {
		return nil
	}
	known := v.known
	if v.param != nil {
		known.Value = v.param.Tensor()
	}
	c := &op.Call{Op: n.op, In: []op.Type{v.typ}, Known: []op.Known{known}}
	x, err := c.Ints(0)
	if err != nil {
		return nil
	}
	return x
}

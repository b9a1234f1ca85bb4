package nn

import "github.com/graft-ml/graft/nn/op"

// weighs says whether a parameter in input i of the node is a weight: one in a weight slot is, with these
// exceptions. Left of a product or in an Einsum it must meet what the network computes from its inputs, rather
// than positions; and it may be divided by its own norm, but not by anything else.
func (n *Node) weighs(i int) bool {
	switch {
	case n.opType == "MatMul" && i == 0, n.opType == "Einsum":
		for k, other := range n.in {
			if k != i && other.carriesData(map[*Value]bool{}) {
				return true
			}
		}
		return false
	case n.opType == "Div":
		return n.in[1].reaches(n.in[i], map[*Value]bool{})
	}
	return true
}

// carriesData says whether the value depends, through numbers that are differentiated, on an input of the graph or on
// rows of a table that were looked up.
func (v *Value) carriesData(seen map[*Value]bool) bool {
	if v == nil || seen[v] || v.param != nil || v.typ.Kind == op.Tensor && !v.typ.DType.IsFloat() {
		return false
	}
	seen[v] = true
	n := v.producer
	if n == nil {
		return true
	}
	for i, x := range n.in {
		if n.opType == "Gather" && i == 0 && x != nil && x.param != nil || x.carriesData(seen) {
			return true
		}
	}
	return false
}

// reaches says whether v depends on x.
func (v *Value) reaches(x *Value, seen map[*Value]bool) bool {
	if v == nil || seen[v] {
		return false
	}
	seen[v] = true
	if v == x {
		return true
	}
	if v.producer != nil {
		for _, y := range v.producer.in {
			if y.reaches(x, seen) {
				return true
			}
		}
	}
	return false
}

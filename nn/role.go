package nn

import (
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
)

// Role tells what a parameter is for.
type Role string

// The roles of parameters.
const (
	Weight    Role = "weight"    // trained unless frozen
	Statistic Role = "statistic" // running mean or variance: changed by its own rule
	Constant  Role = "constant"
)

// Role is what the operators that read the parameter use it for: a floating-point tensor of rank
// one or more in a weight slot is a weight, one in a state slot a statistic, the rest constants.
// Edit.SetRole overrides.
func (p *Param) Role() Role {
	if p.role != nil {
		return *p.role
	}
	if p.Data == nil || !dtype.Of(p.Data.Dtype()).IsFloat() {
		return Constant
	}
	role := p.value.paramRole(nil)
	if role == Weight && p.value.typ.Rank() == 0 {
		return Constant
	}
	return role
}

// paramRole is what the users of v make of it.
func (v *Value) paramRole(seen map[*Value]bool) Role {
	if seen[v] {
		return Constant
	}
	if seen != nil {
		seen[v] = true
	}
	role := Constant
	for _, n := range v.users {
		switch r := n.roleOf(v, seen); {
		case r == Statistic:
			return Statistic
		case r == Weight:
			role = Weight
		}
	}
	return role
}

// roleOf is what node n uses v for. Identity and subgraphs pass the question on.
func (n *Node) roleOf(v *Value, seen map[*Value]bool) Role {
	if n.op == nil {
		return Constant
	}
	formal := n.op.In.List()
	role := Constant
	for i, x := range n.in {
		if x != v {
			continue
		}
		s, _ := op.At(formal, i)
		switch s.Role {
		case op.State:
			return Statistic
		case op.Weight:
			if n.weighs(i) {
				role = Weight
			}
		}
	}
	if passesOn[n.opType] && seen == nil {
		seen = map[*Value]bool{v: true}
	}
	if passesOn[n.opType] && len(n.out) > 0 && n.out[0] != nil {
		return n.out[0].paramRole(seen)
	}
	for _, b := range n.bodies() {
		for k, o := range b.outer {
			if n.capturedBy(b, k) == v {
				if r := o.paramRole(seen); r != Constant {
					role = r
				}
			}
		}
	}
	return role
}

// passesOn names the operators behind which a parameter is still the same parameter.
var passesOn = map[string]bool{"Identity": true, "Transpose": true, "Reshape": true, "Unsqueeze": true, "Squeeze": true, "Concat": true, "Slice": true, "Cast": true, "Expand": true, "Tile": true}

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

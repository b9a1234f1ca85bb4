package nn

import (
	"github.com/graft-ml/graft/nn/op"
)

var noTraits op.Traits

// Traits are what the node's operator declares of itself; none where graft does not know the operator.
func (n *Node) Traits() op.Traits { return *n.traits() }

func (n *Node) traits() *op.Traits {
	if n == nil || n.op == nil {
		return &noTraits
	}
	return &n.op.Traits
}

// Layer describes how the node multiplies data with a weight; false when it does not.
func (n *Node) Layer() (op.Layer, bool) {
	f := n.traits().Layer
	if f == nil {
		return op.Layer{}, false
	}
	return f(n.call()), true
}

// call is the node's call outside of a walk: types as inferred, values of parameters as they are now.
func (n *Node) call() *op.Call {
	c := &op.Call{
		Set: n.graph.ops, Op: n.op, Config: n.config, Version: max(n.op.Version(n.graph.opset(n.domain)), n.op.Since[0]), Opset: n.graph.opset(n.domain),
		Node: n.Label(), In: make([]op.Type, len(n.in)), Known: make([]op.Known, len(n.in)), Outputs: len(n.out),
	}
	for i, v := range n.in {
		if v != nil {
			c.In[i], c.Known[i] = v.typ, v.current()
		}
	}
	for _, v := range n.out {
		c.Want = append(c.Want, v != nil)
		c.Out = append(c.Out, v.Type())
	}
	return c
}

// current is what is known of the value now, a parameter's elements included.
func (v *Value) current() op.Known {
	if v.param != nil && v.param.Data != nil {
		return op.Known{Value: v.param.Data}
	}
	return v.known
}

// sources answers where the inputs of a node come from.
type sources struct{ n *Node }

func (s sources) Inputs() int { return len(s.n.in) }

func (s sources) Role(i int) op.Role {
	slot, _ := op.At(s.n.op.In.List(), i)
	return slot.Role
}

func (s sources) Data(i int) bool      { return s.n.In(i).carriesData() }
func (s sources) Repeated(i int) bool  { return s.n.In(i).isRepeated() }
func (s sources) Parameter(i int) bool { return s.n.In(i).fromParams() }

func (s sources) Leads(i, other int) bool {
	return s.n.In(i).reaches(s.n.In(other), s.n, map[*Value]bool{})
}

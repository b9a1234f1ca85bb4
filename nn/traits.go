package nn

import (
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/trait"
)

var noTraits op.Traits

// Traits returns what the node's operator declares about itself, the zero Traits if graft does not know the operator.
func (n *Node) Traits() op.Traits {
	defer n.locked().unlock()
	return *n.traits()
}

func (n *Node) traits() *op.Traits {
	if n == nil || n.op == nil {
		return &noTraits
	}
	return &n.op.Traits
}

// isConstant reports whether the node holds a value of the model and computes nothing.
func (n *Node) isConstant() bool {
	return n != nil && n.op != nil && len(n.op.In) == 0 && len(n.out) == 1 && n.out[0] != nil && n.out[0].known.Value != nil && n.bodies() == nil
}

// WeightedSum describes how the node multiplies data by a weight, which is the first of its inputs that may be one and
// does not depend on data. It reports false if the node does not.
func (n *Node) WeightedSum() (trait.WeightedSum, bool) {
	defer n.locked().unlock()
	return n.weightedSum()
}

func (n *Node) weightedSum() (trait.WeightedSum, bool) {
	f := n.traits().WeightedSums
	if f == nil {
		return trait.WeightedSum{}, false
	}
	list := f(n.call())
	for _, l := range list {
		if w := n.input(l.Weight); w != nil && fixed(w) {
			return l, true
		}
	}
	if len(list) == 0 {
		return trait.WeightedSum{}, false
	}
	return list[0], true
}

// Call returns the node as the functions of its operator see it outside of a run: with the inferred types and the current
// values of parameters. It is nil if graft does not know the operator.
func (n *Node) Call() *op.Call {
	defer n.locked().unlock()
	return n.call()
}

func (n *Node) call() *op.Call {
	if n == nil || n.op == nil {
		return nil
	}
	in := n.reads()
	c := &op.Call{
		Set: n.graph.ops, Op: n.op, Config: n.config, Version: max(n.op.Version(n.graph.opset(n.domain)), n.op.Since[0]), Opset: n.graph.opset(n.domain),
		Node: n.label(), In: make([]op.Type, len(in)), Known: make([]op.Known, len(in)), Outputs: len(n.out),
	}
	for i, v := range in {
		if v != nil {
			c.In[i], c.Known[i] = v.typ, v.current()
		}
	}
	for _, v := range n.out {
		c.Want = append(c.Want, v != nil)
		c.Out = append(c.Out, v.typed())
	}
	return c
}

// current returns what is known of the value now, a parameter's elements included.
func (v *Value) current() op.Known {
	if v.param != nil && v.param.data != nil {
		return op.Known{Value: v.param.data}
	}
	return v.known
}

// sources returns where the inputs of a node come from.
type sources struct{ n *Node }

func (s sources) Inputs() int { return len(s.n.in) }

func (s sources) Role(i int) op.InputRole {
	slot, _ := op.At(s.n.op.In.List(), i)
	return slot.Role
}

func (s sources) Data(i int) bool      { return s.n.input(i).carriesData() }
func (s sources) Repeated(i int) bool  { return s.n.input(i).isRepeated() }
func (s sources) Parameter(i int) bool { return s.n.input(i).fromParams() }

func (s sources) Leads(i, other int) bool {
	return s.n.input(i).reaches(s.n.input(other), s.n, map[*Value]bool{})
}

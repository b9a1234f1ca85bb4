package nn

import (
	"fmt"
	"slices"
)

// activation is a function of single elements in a graph: one node, or the few that exporters
// write it out as.
type activation struct {
	kind    string // the operator, "Swish", "Gelu" or "HardSwish" also where it is written out
	in, out *Value
	last    *Node // computes out
	gate    bool  // by its form it may just as well be a gate or an output: Sigmoid, Tanh
}

// hidden are the activations that stand between layers; true where they often do something else.
var hidden = map[string]bool{
	"Relu": false, "LeakyRelu": false, "PRelu": false, "Elu": false, "Selu": false, "Celu": false, "Gelu": false, "Mish": false,
	"Swish": false, "HardSwish": false, "Softplus": false, "Softsign": false, "ThresholdedRelu": false, "Clip": true,
	"Sigmoid": true, "HardSigmoid": true, "Tanh": true,
}

// activationAt is the activation that a node computes or ends.
func activationAt(n *Node) (activation, bool) {
	out := n.Out(0)
	if n.domain != "" || out == nil || !out.typ.DType.IsFloat() {
		return activation{}, false
	}
	a := activation{kind: n.opType, out: out, last: n}
	if gate, ok := hidden[n.opType]; ok {
		a.in, a.gate = n.In(0), gate
		if n.opType == "Clip" && within(out).lo == 0 { // ReLU6
			a.gate = false
		}
		return a, a.in != nil && !partOfActivation(n)
	}
	if n.opType == "Mul" || n.opType == "Div" {
		a.kind, a.in = written(n)
	}
	return a, a.in != nil
}

// written recognizes an activation written out, by its last node.
func written(n *Node) (string, *Value) {
	for i := range n.in {
		x, g := n.In(i), n.In(1-i)
		if p := alone(g); p != nil && x != nil {
			switch {
			case p.opType == "Sigmoid" && p.In(0) == x:
				return "Swish", x
			case p.opType == "HardSigmoid" && p.In(0) == x:
				return "HardSwish", x
			}
		}
	}
	if x := erfGelu(n); x != nil {
		return "Gelu", x
	}
	return "", nil
}

// alone is the node that computes v for one user only.
func alone(v *Value) *Node {
	if v == nil || v.producer == nil || len(v.users) != 1 || slices.Contains(v.graph.outputs, v) {
		return nil
	}
	return v.producer
}

// erfGelu recognizes x·½·(1+erf(x/√2)), factors in any order, and gives x.
func erfGelu(n *Node) *Value {
	var factors []*Value
	var take func(n *Node)
	take = func(n *Node) {
		for _, v := range n.in {
			if p := alone(v); p != nil && p.opType == "Mul" {
				take(p)
			} else {
				factors = append(factors, v)
			}
		}
	}
	if n.opType != "Mul" {
		return nil
	}
	take(n)
	var x, arg *Value
	half := false
	for _, v := range factors {
		if c, ok := numberIn(v); ok && c == 0.5 {
			half = true
		} else if a := onePlusErf(v); a != nil {
			arg = a
		} else if x == nil {
			x = v
		} else {
			return nil
		}
	}
	if !half || arg == nil || x == nil || len(factors) != 3 {
		return nil
	}
	if p := arg.producer; p != nil && (p.opType == "Div" || p.opType == "Mul") && (p.In(0) == x || p.In(1) == x) {
		return x
	}
	return nil
}

// onePlusErf gives a of 1+erf(a).
func onePlusErf(v *Value) *Value {
	p := alone(v)
	if p == nil || p.opType != "Add" {
		return nil
	}
	for i := range p.in {
		if c, ok := numberIn(p.In(i)); ok && c == 1 {
			if q := alone(p.In(1 - i)); q != nil && q.opType == "Erf" {
				return q.In(0)
			}
		}
	}
	return nil
}

// partOfActivation says whether the node's result only serves an activation that is written out.
func partOfActivation(n *Node) bool {
	v := n.Out(0)
	if alone(v) == nil {
		return false
	}
	u := v.users[0]
	if u.opType != "Mul" {
		return false
	}
	_, x := written(u)
	return x != nil && x == n.In(0)
}

// SwapActivations puts a layer in the place of every activation that the selectors accept and
// gives the outputs. Activations that exporters write out (x·sigmoid(x), the error function's
// GELU) count as one; select the node that ends them. Without a selector all activations between
// layers are meant; Sigmoid, Tanh and the like, which may be gates or outputs, only when selected.
// What the model computes changes, shapes do not.
func (e *Edit) SwapActivations(l Layer, sel ...Selector) []*Value {
	if e.err != nil {
		return nil
	}
	var found []activation
	for _, n := range e.g.nodes {
		if !all(sel, n) {
			continue
		}
		if a, ok := activationAt(n); ok && (len(sel) > 0 || !a.gate) {
			found = append(found, a)
		}
	}
	if len(found) == 0 {
		e.Failf("no activation is among the nodes selected")
		return nil
	}
	var list []*Value
	e.weighed(func() {
		for _, a := range found {
			list = append(list, e.swapActivation(a, l))
		}
	})
	return list
}

func (e *Edit) swapActivation(a activation, l Layer) *Value {
	y := e.Apply(l, a.in)
	if e.err != nil {
		return nil
	}
	if err := sameShape(y, a.out); err != nil {
		e.fail(&Error{Op: a.last.opType, Node: a.last.Label(), Err: fmt.Errorf("cannot be swapped: %w", err)})
		return nil
	}
	e.bypass(a.out, y)
	e.drop(a.last)
	return y
}

// kindOf is the operator of an activation layer: "Swish" for SiLU; "" when it is none or not known.
func kindOf(l Layer) string {
	switch l := l.(type) {
	case ReLU:
		return "Relu"
	case LeakyReLU:
		return "LeakyRelu"
	case PReLU:
		return "PRelu"
	case ELU:
		return "Elu"
	case GELU:
		return "Gelu"
	case SiLU:
		return "Swish"
	case Sigmoid:
		return "Sigmoid"
	case Tanh:
		return "Tanh"
	case Op:
		if l.Config != nil && l.Config.Operator().Domain == "" {
			return l.Config.Operator().Name
		}
	}
	return ""
}

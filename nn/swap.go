package nn

import (
	"fmt"
	"math"
	"slices"

	"github.com/graft-ml/graft/nn/op/trait"
)

// activation is an elementwise function in a graph: one node, or the few nodes that exporters
// write for it.
type activation struct {
	in, out *Value
	last    *Node // computes out
	gate    bool  // may also be a gate or an output: Sigmoid, Tanh
}

// activationAt returns the activation that a node computes, or that ends in it.
func activationAt(n *Node) (activation, bool) {
	out := n.output(0)
	if !out.typed().DType.IsFloat() {
		return activation{}, false
	}
	a := activation{in: n.input(0), out: out, last: n}
	switch n.traits().Activation {
	case trait.NoActivation:
		a.in, _ = written(n)
		return a, a.in != nil
	case trait.GateActivation:
		a.gate = true
	case trait.ClampActivation:
		a.gate = within(out).Lo != 0 // the lower bound of ReLU6 is 0
	}
	return a, a.in != nil && !partOfActivation(n)
}

// IsActivation reports whether the node computes an activation, or is the last of several nodes that together do; see
// Edit.SwapActivations.
func (n *Node) IsActivation() bool {
	defer n.locked().unlock()
	_, ok := activationAt(n)
	return ok
}

// written recognizes an activation x·f(x) by its last node, where f is a step from 0 to 1: one
// operator, or ½·(1+g(a)) with a step g from −1 to 1 and an odd function a of x. It returns x and the
// node that computes the step.
func written(n *Node) (x *Value, step *Node) {
	if n.traits().Arithmetic != trait.Multiplies {
		return nil, nil
	}
	for i := range n.in {
		x, p := n.input(i), alone(n.input(1-i))
		if p.traits().Sigmoid == trait.UnitSigmoid && p.input(0) == x {
			return x, p
		}
	}
	return writtenHalf(n)
}

// alone returns the node that computes v, if v has one user.
func alone(v *Value) *Node {
	if v == nil || v.producer == nil || len(v.users) != 1 || slices.Contains(v.graph.outputs, v) {
		return nil
	}
	return v.producer
}

// writtenHalf recognizes x·½·(1+g(a)), factors in any order.
func writtenHalf(n *Node) (x *Value, step *Node) {
	half := false
	for _, v := range factors(n) {
		if c, ok := numberIn(v); ok && c == 0.5 && !half {
			half = true
		} else if g := onePlusStep(v); g != nil && step == nil {
			step = g
		} else if x == nil {
			x = v
		} else {
			return nil, nil
		}
	}
	if !half || parityOf(step.input(0), x, 8) != odd {
		return nil, nil
	}
	return x, step
}

// factors returns the factors of nested products.
func factors(n *Node) []*Value {
	var list []*Value
	for _, v := range n.in {
		if p := alone(v); p.traits().Arithmetic == trait.Multiplies {
			list = append(list, factors(p)...)
		} else {
			list = append(list, v)
		}
	}
	return list
}

// onePlusStep returns g of 1+g(a).
func onePlusStep(v *Value) *Node {
	p := alone(v)
	if p.traits().Arithmetic != trait.Adds {
		return nil
	}
	for i := range p.in {
		if c, ok := numberIn(p.input(i)); ok && c == 1 {
			if g := alone(p.input(1 - i)); g.traits().Sigmoid == trait.OddSigmoid {
				return g
			}
		}
	}
	return nil
}

// parity is the symmetry of a function under a change of sign.
type parity int

const (
	neither parity = iota
	even           // f(−x) = f(x)
	odd            // f(−x) = −f(x)
)

// parityOf returns the parity of v as a function of x.
func parityOf(v, x *Value, depth int) parity {
	if v == nil || depth == 0 {
		return neither
	}
	if v == x {
		return odd
	}
	if _, ok := numberIn(v); ok {
		return even
	}
	n := v.producer
	a := n.traits().Arithmetic
	if a == trait.NoArithmetic {
		return neither
	}
	l, r := parityOf(n.input(0), x, depth-1), parityOf(n.input(1), x, depth-1)
	switch {
	case l == neither || r == neither:
		return neither
	case a == trait.Powers:
		return power(l, n.input(1))
	case a == trait.Adds || a == trait.Subtracts:
		if l != r {
			return neither
		}
		return l
	case l == r:
		return even
	}
	return odd
}

// power returns the parity of a function with parity of, raised to the power v.
func power(of parity, v *Value) parity {
	switch e, ok := numberIn(v); {
	case !ok || e != math.Trunc(e):
		return neither
	case math.Mod(e, 2) == 0:
		return even
	}
	return of
}

// partOfActivation reports whether the node's result is only used in an activation that is written out.
func partOfActivation(n *Node) bool {
	for at := n; alone(at.output(0)) != nil; {
		if at = at.output(0).users[0]; at.traits().Arithmetic == trait.NoArithmetic {
			break
		}
		if _, step := written(at); step == n {
			return true
		}
	}
	return false
}

// SwapActivations replaces every activation that the selectors accept by a layer and returns the new outputs. An
// activation that is written out as several nodes (x·sigmoid(x), or GELU with erf or tanh) counts as one; select it by
// its last node. Without a selector all activations between layers are replaced, but not Sigmoid, Tanh and others that
// may be gates or outputs. The model computes something else afterwards, with the same shapes.
func (e *Edit) SwapActivations(l Layer, sel ...Selector) []*Value {
	e.made()
	if e.err != nil {
		return nil
	}
	var found []activation
	for _, n := range e.g.nodes() {
		if ok, err := accepted(sel, n); err != nil {
			e.Fail(err)
			return nil
		} else if !ok {
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
		swapped := map[*Value]*Value{}
		for _, a := range found {
			if y := swapped[a.in]; y != nil { // one activation follows another
				a.in = y
			}
			swapped[a.out] = e.swapActivation(a, l)
			list = append(list, swapped[a.out])
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
		e.fail(&Error{Op: a.last.opType, Node: a.last.label(), Err: fmt.Errorf("cannot be swapped: %w", err)})
		return nil
	}
	e.bypass(a.out, y)
	e.drop(a.last)
	return y
}

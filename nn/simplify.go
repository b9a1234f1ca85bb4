package nn

import (
	"slices"

	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/trait"
	"gorgonia.org/tensor"
)

// Simplify removes nodes that are not needed to compute the outputs, and returns how many were removed:
//
//   - A node whose outputs are known before the graph runs, from constants or shapes, is replaced by parameters of the
//     role Constant. Nodes that depend on a weight or a statistic, or on a dimension without a number, stay.
//   - An If whose condition is known is replaced by the nodes of the branch that is taken.
//   - A node that does not change its input, such as an Identity, is removed. This includes Dropout, so do not simplify a
//     model that is still to be trained.
//   - A node whose outputs nothing reads is removed.
//
// Nodes that have annotations and readers, and nodes that compute an output of the graph stay. Subgraphs are not
// simplified. Nodes of removed subgraphs count, too.
func (e *Edit) Simplify() int {
	e.made()
	if e.err != nil {
		return 0
	}
	before := e.g.countNodes()
	e.InlineBranches()
	nodes, err := topological(e.g.nodes(), e.watched())
	if err != nil {
		e.fail(err)
	}
	if e.err != nil {
		return 0
	}
	nodes = slices.Clone(nodes)
	outputs := map[*Value]bool{}
	for _, v := range e.g.outputs {
		outputs[v] = true
	}
	learned := learnedValues(nodes)
	for _, n := range nodes {
		if e.ended() {
			return 0
		}
		if len(n.annotations) > 0 || slices.ContainsFunc(n.out, func(v *Value) bool { return outputs[v] }) {
			continue
		}
		if known, ok := n.constants(learned); ok {
			for i, v := range n.out {
				if v != nil && len(v.users) > 0 {
					c := e.Const(v.name, known[i])
					e.SetRole(c, Constant)
					e.Rewire(v, c)
				}
			}
		} else if n.keepsAll() {
			e.Rewire(n.out[0], n.in[0])
		}
	}
	e.drop(deadNodes(nodes, outputs)...)
	return before - e.g.countNodes()
}

// deadNodes returns those of nodes, which are in topological order, from which none of outputs is computed, in that order. A node with
// annotations that nothing reads stays.
func deadNodes(nodes []*Node, outputs map[*Value]bool) (list []*Node) {
	dead := map[*Node]bool{}
	for _, n := range slices.Backward(nodes) {
		read, live := false, false
		for _, v := range n.out {
			if v != nil {
				read = read || len(v.users) > 0
				live = live || outputs[v] || slices.ContainsFunc(v.users, func(u *Node) bool { return !dead[u] })
			}
		}
		if !live && (read || len(n.annotations) == 0) {
			dead[n] = true
			list = append(list, n)
		}
	}
	slices.Reverse(list)
	return list
}

// countNodes counts the nodes, including those of subgraphs.
func (g *Graph) countNodes() int {
	count := len(g.nodes())
	for _, b := range g.allBodies() {
		count += len(b.Graph.nodes())
	}
	return count
}

// learnedValues returns the parameters that are not constants, and the values that depend on them.
func learnedValues(nodes []*Node) map[*Value]bool {
	learned, asked := map[*Value]bool{}, map[*Value]bool{}
	for _, n := range nodes {
		if slices.ContainsFunc(n.reads(), func(v *Value) bool {
			if v != nil && v.param != nil && !asked[v] { // all of its readers are looked at
				asked[v] = true
				learned[v] = v.param.purpose() != Constant
			}
			return v != nil && learned[v]
		}) {
			for _, v := range n.out {
				learned[v] = true
			}
		}
	}
	return learned
}

// constants returns the outputs of a node as tensors if all of them are known before the run.
func (n *Node) constants(learned map[*Value]bool) ([]*tensor.Dense, bool) {
	list := make([]*tensor.Dense, len(n.out))
	for i, v := range n.out {
		if v == nil {
			continue
		}
		k := v.known
		d, ok := k.Value.(*tensor.Dense)
		shape := k.Dims != nil && (k.Exact || !slices.ContainsFunc(k.Dims, func(d op.Dim) bool { return d.Size < 0 }))
		switch {
		case ok && !learned[v]:
			list[i] = d
		case shape: // also of a weight: a shape is not trained
			if list[i], ok = op.DimsValue(k.Dims, v.typ); !ok {
				return nil, false
			}
		default:
			return nil, false
		}
	}
	return list, true
}

// keepsAll reports whether the output of a node is its first input, bit by bit, except in training.
func (n *Node) keepsAll() bool {
	c := n.call()
	if c == nil || c.Op.Traits.Keeps == nil || slices.ContainsFunc(n.out[1:], func(v *Value) bool { return v != nil && len(v.users) > 0 }) {
		return false
	}
	in, out := n.input(0), n.output(0)
	return in.typed().String() == out.typed().String() && c.Op.Traits.Keeps(c, trait.Anywhere()) && (c.Op.Traits.Draws == nil || !c.Op.Traits.Draws(c))
}

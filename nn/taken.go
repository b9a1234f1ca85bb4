package nn

import (
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/std"
)

// taken returns the branch that an If takes at every size of the symbols, and the index in in of its
// first captured value; nil if that is unknown, or if the branch updates running statistics. An
// exported training step has the nodes of the branch instead of the If.
func (w *walker) taken(c *op.Call, in []*Value) (*Body, int) {
	if w.mode != walkTrace || !w.strict || len(in) == 0 || in[0] == nil || w.at(in[0]).open {
		return nil, 0
	}
	branch, from := std.TakenBranch(c)
	b, _ := branch.(*Body)
	if b == nil || len(b.states()) > 0 {
		return nil, 0
	}
	return b, from
}

// inside visits the nodes of a branch in place of its If.
func (w *walker) inside(n *Node, b *Body, captured []*Value) error {
	for i, v := range b.outer {
		if captured[i].param != nil { // bind to the parameter, not to its placeholder
			if _, err := w.nodeOf(captured[i]); err != nil {
				return located(w.stage(), n, err)
			}
		}
		w.env[v] = w.at(captured[i])
		if w.influenced[captured[i]] {
			w.influenced[v] = true
		}
		if err := w.lost[captured[i]]; err != nil {
			w.lost[v] = err
		}
	}
	nodes, err := topological(b.Graph.nodes(), nil)
	if err != nil {
		return located(w.stage(), n, err)
	}
	if w.influenced != nil {
		influence(nodes, w.influenced)
	}
	if err := w.visitAll(nodes); err != nil {
		return err
	}
	for i, v := range n.out {
		if v == nil {
			continue
		}
		x := b.Graph.outputs[i]
		if w.env[v] = w.at(x); w.env[v] == nil { // an inner node waits for a value
			return w.deferNode(n)
		}
		if err := w.lost[x]; err != nil {
			w.lost[v] = err
		}
	}
	return nil
}

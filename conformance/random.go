package conformance

import (
	"github.com/graft-ml/graft/nn"
)

// isRandom reports whether v depends on random numbers, so that only its type and shape can be compared.
func isRandom(v *nn.Value, feed nn.Feed) bool {
	seen := map[*nn.Node]bool{}
	var reach func(v *nn.Value) bool
	reach = func(v *nn.Value) bool {
		n := v.Producer()
		if n == nil || seen[n] {
			return false
		}
		seen[n] = true
		if draws(n, feed) {
			return true
		}
		for _, x := range append(n.Inputs(), n.Captured()...) {
			if x != nil && reach(x) {
				return true
			}
		}
		return false
	}
	return reach(v)
}

// draws reports whether a node, or one in its subgraphs, draws random numbers.
func draws(n *nn.Node, feed nn.Feed) bool {
	if c := n.Call(); c != nil {
		for i, v := range n.Inputs() {
			if x, ok := feed[v.Name()]; ok { // a missing input has no name
				c.Known[i].Value = x
			}
		}
		if c.Draws() {
			return true
		}
	}
	for _, b := range n.Bodies() {
		for x := range b.Graph.Nodes() {
			if draws(x, feed) {
				return true
			}
		}
	}
	return false
}

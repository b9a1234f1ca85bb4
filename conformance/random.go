package conformance

import (
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"gorgonia.org/tensor"
)

// isRandom reports whether random numbers reach v, so that only its type and shape can be judged.
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
	switch {
	case n.Type() == "Dropout" && n.Domain() == "":
		return dropsOut(n, feed)
	case n.Op() != nil && n.Op().Random:
		return true
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

// dropsOut reports whether a Dropout is in training mode with a ratio other than zero.
func dropsOut(n *nn.Node, feed nn.Feed) bool {
	mode, ok := scalarOf(n.In(2), feed)
	if n.In(2) == nil || ok && mode == 0 {
		return false
	}
	ratio, ok := scalarOf(n.In(1), feed)
	return n.In(1) == nil || !ok || ratio != 0
}

// scalarOf is the value of a scalar that is fed or part of the model.
func scalarOf(v *nn.Value, feed nn.Feed) (float64, bool) {
	var x any = feed[v.Name()]
	if p := v.Param(); p != nil {
		x = p.Data()
	} else if k := v.Known().Value; k != nil {
		x = k
	}
	d, ok := x.(*tensor.Dense)
	if !ok || d == nil {
		return 0, false
	}
	f, err := dtype.Float64s(d)
	if err != nil || len(f) != 1 {
		return 0, false
	}
	return f[0], true
}

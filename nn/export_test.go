package nn

import (
	"slices"

	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"gorgonia.org/gorgonia"
)

// SetFusion switches the recognition of groups of nodes on or off.
func (g *Graph) SetFusion(on bool) {
	g.unfused = !on
	g.cache.clear()
}

// Operators lists the operators that a run on these inputs computes the wanted values with, sorted.
func (g *Graph) Operators(in map[*Value]dtype.Value, want ...*Value) ([]string, error) {
	r := request{want: want}
	types, err := g.feedTypes(in, r)
	if err != nil {
		return nil, err
	}
	st, err := g.lowerStage(in, types, r)
	if err != nil {
		return nil, err
	}
	var list []string
	seen := map[*gorgonia.Node]bool{}
	var visit func(n *gorgonia.Node)
	visit = func(n *gorgonia.Node) {
		if seen[n] {
			return
		}
		seen[n] = true
		if c, _, _, ok := op.CallOf(n); ok {
			list = append(list, c.Op.Name)
		}
		for _, k := range op.Children(n) {
			visit(k)
		}
	}
	for _, n := range st.roots {
		visit(n)
	}
	slices.Sort(list)
	return list, nil
}

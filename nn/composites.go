package nn

import (
	"context"
	"slices"

	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
)

// Composite is a set of nodes that together compute one operator, for example a layer normalization or a GELU that an
// exporter wrote as a dozen small operators. A run computes it as that operator.
type Composite struct {
	Name   string        // name of the rule: "layer normalization", "gelu", "attention", "linear" …
	Config op.Config     // the operator; some exist only in lowerings
	In     []*Value      // its inputs; nil for an absent one and for a constant
	Consts []dtype.Value // the constants among its inputs
	Nodes  []*Node       // the last of them computes the operator's output
}

// Composites returns the groups of nodes that together compute one operator, in the order of their last nodes. No node
// belongs to two of them; of two groups that overlap, the one that ends later is returned. Symbolic dimensions are given
// sizes for this, on which the result may depend. It ends with the error of ctx.
func (g *Graph) Composites(ctx context.Context) ([]Composite, error) {
	defer g.locked().unlock()
	w := g.standIn(ctx)
	w.fuser = newFuser(g.ops.Rewrites(), g.nodes(), g.outputs)
	taken := map[*Node]bool{}
	var list []Composite
	for _, n := range slices.Backward(g.nodes()) {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		c := w.called[n]
		if c == nil || taken[n] {
			continue
		}
		if x, ok := w.compositeAt(n, c, taken); ok {
			for _, m := range x.Nodes {
				taken[m] = true
			}
			list = append(list, x)
		}
	}
	slices.Reverse(list)
	return list, nil
}

// compositeAt returns the largest group that ends in a node and contains no node of taken.
func (w *walker) compositeAt(n *Node, c *op.Call, taken map[*Node]bool) (x Composite, ok bool) {
	defer func() {
		if recover() != nil { // a rule asked for a size that is unknown
			ok = false
		}
	}()
	if len(n.out) != 1 || n.out[0] == nil {
		return x, false
	}
	for _, r := range w.fuser.rules[c.Op.Operator()] {
		m := &matching{w: w, root: n}
		f := m.try(r)
		if f == nil || slices.ContainsFunc(m.nodes, func(n *Node) bool { return taken[n] }) {
			continue
		}
		if w.fusedCall(c, f) == nil {
			continue
		}
		x = Composite{Name: r.Name, Config: f.Config}
		for _, in := range f.In {
			v, _ := in.Ref.(*Value)
			var known dtype.Value
			if v == nil {
				known = in.Known.Value
			}
			x.In, x.Consts = append(x.In, v), append(x.Consts, known)
		}
		for _, m := range m.nodes {
			if m != n && !slices.Contains(x.Nodes, m) {
				x.Nodes = append(x.Nodes, m)
			}
		}
		x.Nodes = append(x.Nodes, n)
		return x, true
	}
	return x, false
}

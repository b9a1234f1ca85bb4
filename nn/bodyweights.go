package nn

import (
	"fmt"
	"slices"

	"github.com/graft-ml/graft/nn/op"
)

// liftWeights makes weights and statistics that subgraphs of the finished graph hold parameters of the graph, which the subgraphs
// capture; constants stay inside. The value in the subgraph becomes the placeholder and keeps its name and origin, which both
// values share from then on. Bodies of functions are left unchanged: calls have copies of them. It reports whether there were any.
func (g *Graph) liftWeights() bool {
	bodies := g.ownBodies()
	if len(bodies) == 0 {
		return false
	}
	taken := map[string]bool{}
	for _, b := range bodies {
		for name, v := range b.Graph.values {
			if !slices.Contains(b.outer, v) && (v.param == nil || !v.param.learned()) {
				taken[name] = true
			}
		}
	}
	return g.liftInto(taken)
}

// ownBodies returns the subgraphs of the graph's nodes and those inside them, without bodies of functions.
func (g *Graph) ownBodies() (list []*Body) {
	for _, n := range g.nodes() {
		if n.traits().Call {
			continue
		}
		for _, b := range n.bodies() {
			list = append(append(list, b), b.Graph.ownBodies()...)
		}
	}
	return list
}

// liftInto lifts the parameters of the subgraphs of g, those nested inside first. taken has the names of values that stay in
// subgraphs.
func (g *Graph) liftInto(taken map[string]bool) (lifted bool) {
	for _, n := range g.nodes() {
		if n.traits().Call {
			continue
		}
		end := 0 // of the body's values in n.captured
		for _, b := range n.bodies() {
			b.Graph.liftInto(taken)
			end += len(b.outer)
			for _, p := range b.Graph.params() {
				if !p.learned() {
					continue
				}
				v := p.value
				x := &Value{name: v.name, typ: v.typ, param: p, graph: g, origin: v.origin}
				for i := 1; taken[x.name] || g.values[x.name] != nil; i++ {
					x.name = fmt.Sprintf("%s_%d", v.name, i)
				}
				g.values[x.name], p.value = x, x
				v.param, v.known = nil, op.Known{}
				b.outer = append(b.outer, v)
				n.captured, n.places = slices.Insert(n.captured, end, x), nil
				end++
				x.use(n)
				lifted = true
			}
			b.Graph.data.forget()
		}
	}
	g.data.forget()
	return lifted
}

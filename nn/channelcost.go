package nn

import (
	"context"
	"slices"

	"github.com/graft-ml/graft/nn/op"
)

// Cost returns the cost of the model without the given atoms. Symbolic dimensions have sizes chosen by the analysis, so
// the numbers are only meant to be compared with each other.
func (c *Channels) Cost(without []*Atom) Cost {
	cost, _ := c.CostUntil(context.Background(), without)
	return cost
}

// CostUntil is Cost, ended by ctx.
func (c *Channels) CostUntil(ctx context.Context, without []*Atom) (Cost, error) {
	c.made()
	w, err := begun(ctx)
	if err != nil {
		return Cost{}, err
	}
	defer c.g.entered().unlock()
	gone := map[axisID]int{}
	seen := make([]bool, c.a.system.Elements())
	for _, a := range without {
		for id, slots := range a.parts() {
			if w.ended() {
				return Cost{}, w.err
			}
			for _, s := range slots {
				if !seen[s] {
					seen[s] = true
					gone[id]++
				}
			}
		}
	}
	var cost Cost
	for _, p := range c.g.params() {
		if w.ended() {
			return Cost{}, w.err
		}
		if p.purpose() != Constant {
			n := 1
			for _, s := range c.shape(p.value, gone) {
				n *= s
			}
			cost.Params += n
		}
	}
	for _, n := range c.g.nodes() {
		if w.ended() {
			return Cost{}, w.err
		}
		cost.MACs += c.macs(n, gone)
	}
	return cost, nil
}

func (c *Channels) shape(v *Value, gone map[axisID]int) []int {
	first := c.a.first[v]
	s := make([]int, c.a.rank[v])
	for i := range s {
		s[i] = int(c.a.axes[first+axisID(i)].size) - gone[first+axisID(i)]
	}
	return s
}

// macs returns the multiply-adds of a node with shorter axes.
func (c *Channels) macs(n *Node, gone map[axisID]int) int64 {
	call := c.a.calls[n]
	if call == nil || n.op.Cost == nil || !settled(call) {
		return 0
	}
	m, _ := n.op.Cost(c.resized(n, call, gone))
	return m
}

// resized returns a call of a node whose axes are shorter by the given numbers of indices.
func (c *Channels) resized(n *Node, call *op.Call, gone map[axisID]int) *op.Call {
	if len(gone) == 0 {
		return call
	}
	x := *call
	x.In = c.shorter(call.In, n.reads(), gone)
	x.Out = c.shorter(call.Out, n.out, gone)
	if n.op.Traits.Resize != nil {
		sized := func(types []op.Type) []op.Resized {
			out := make([]op.Resized, len(types))
			for i, t := range types {
				if t.Static() {
					out[i].New = t.Sizes()
				}
			}
			return out
		}
		r := &op.Resizing{Call: call, In: sized(x.In), Out: sized(x.Out), Ints: func(int) ([]int, bool) { return nil, false }}
		if n.op.Traits.Resize(r) == nil && r.Config != nil {
			x.Config = r.Config
		}
	}
	return &x
}

// shorter shortens the axes of types. Types that do not change are shared.
func (c *Channels) shorter(types []op.Type, values []*Value, gone map[axisID]int) []op.Type {
	out := types
	for i, v := range values[:min(len(values), len(types))] {
		if c.a.rank[v] != len(types[i].Shape) {
			continue
		}
		first, fresh := c.a.first[v], false
		for k := range types[i].Shape {
			n := gone[first+axisID(k)]
			if n == 0 {
				continue
			}
			if &out[0] == &types[0] {
				out = slices.Clone(types)
			}
			if !fresh {
				out[i].Shape, fresh = slices.Clone(types[i].Shape), true
			}
			out[i].Shape[k] = op.D(types[i].Shape[k].Size - n)
		}
	}
	return out
}

// scales measures a graph before and after a change of its channels.
type scales struct {
	w       *watch // of the edit
	c       *Channels
	calls   map[*Node]*op.Call // calls at the sizes for which multiply-adds are counted
	before  Cost
	weights []*Param
}

// onScales counts parameters and multiply-adds, with every open dimension at size 1, or at the sizes
// of the analysis if some node does not accept 1.
func (e *Edit) onScales(c *Channels) *scales {
	s := &scales{w: e.watched(), c: c, calls: e.g.atOne()}
	for _, n := range e.g.nodes() {
		if x := s.calls[n]; n.op != nil && n.op.Cost != nil && (x == nil || !settled(x)) {
			s.calls = c.a.calls
			break
		}
	}
	for _, p := range e.g.params() {
		if p.purpose() != Constant {
			s.weights = append(s.weights, p)
		}
	}
	s.before = Cost{s.size(), s.macs(nil)}
	return s
}

func (s *scales) size() int {
	n := 0
	for _, p := range s.weights {
		n += p.size()
	}
	return n
}

// macs counts some of the multiply-adds if the edit's context ends, with which the edit fails.
func (s *scales) macs(gone map[axisID]int) int64 {
	total := int64(0)
	for n, x := range s.calls {
		if s.w.ended() {
			break
		}
		if n.op.Cost != nil && settled(x) {
			m, _ := n.op.Cost(s.c.resized(n, x, gone))
			total += m
		}
	}
	return total
}

// compare returns the cost before, and the cost with the given indices of axes.
func (s *scales) compare(keep map[axisID][]int) [2]Cost {
	gone := map[axisID]int{}
	for id, k := range keep {
		gone[id] = int(s.c.a.axes[id].size) - len(k)
	}
	return [2]Cost{s.before, {s.size(), s.macs(gone)}}
}

// Makes reports whether the atoms' indices on p are rows that compute the channels, rather than columns that read them.
func (g *Group) Makes(p *Param) bool {
	g.c.made()
	defer g.c.g.entered().unlock()
	return g.makes(p.value, 0)
}

// holds reports whether the group's atoms have indices on an axis of the value.
func (g *Group) holds(v *Value) bool {
	for i := range g.c.a.rank[v] {
		if g.per(g.c.a.first[v]+axisID(i)) > 0 {
			return true
		}
	}
	return false
}

func (g *Group) makes(v *Value, depth int) bool {
	if depth > 4 {
		return false
	}
	for _, n := range v.users {
		for _, o := range n.out {
			if o == nil || !g.holds(o) {
				continue
			}
			if !g.c.derives(n) || g.makes(o, depth+1) {
				return true
			}
		}
	}
	return false
}

// derives reports whether a node only rearranges parameters.
func (c *Channels) derives(n *Node) bool {
	return c.derived[n]
}

// derivations finds the nodes that only rearrange parameters.
func (g *Graph) derivations() map[*Node]bool {
	set := map[*Node]bool{}
	for _, n := range g.nodes() { // producers come before their readers
		if !slices.ContainsFunc(n.in, func(v *Value) bool {
			return v != nil && v.param == nil && v.known.Value == nil && !set[v.producer]
		}) {
			set[n] = true
		}
	}
	return set
}

// Makers returns the nodes that compute values on which the group's atoms have indices.
func (g *Group) Makers() []*Node {
	g.c.made()
	defer g.c.g.entered().unlock()
	var list []*Node
	seen := map[*Node]bool{}
	for _, x := range g.axes {
		if n := g.c.a.axes[x.Axis].value.producer; n != nil && !seen[n] {
			seen[n] = true
			list = append(list, n)
		}
	}
	return list
}

// cost counts parameters and multiply-adds, those with open dimensions at size 1.
func (e *Edit) cost() Cost {
	var c Cost
	for _, macs := range e.g.costs() {
		c.MACs += macs
	}
	for _, p := range e.g.params() {
		if p.purpose() != Constant {
			c.Params += p.size()
		}
	}
	return c
}

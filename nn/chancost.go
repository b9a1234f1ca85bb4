package nn

import (
	"github.com/graft-ml/graft/nn/op"
)

// Cost is what the model would weigh without the given atoms. Open dimensions have the sizes of
// stand-ins, so the numbers are for comparing with each other.
func (c *Channels) Cost(without []*Atom) Cost {
	gone := map[axisID]int{}
	seen := make([]bool, c.a.total)
	for _, a := range without {
		i := 0
		for _, x := range a.group.axes {
			for _, s := range a.slots[i : i+x.count] {
				if !seen[s] {
					seen[s] = true
					gone[x.axis]++
				}
			}
			i += x.count
		}
	}
	var cost Cost
	for _, p := range c.g.params() {
		if p.Role() != Constant {
			n := 1
			for _, s := range c.shape(p.value, gone) {
				n *= s
			}
			cost.Params += n
		}
	}
	for _, n := range c.g.nodes {
		cost.MACs += c.macs(n, gone)
	}
	return cost
}

func (c *Channels) shape(v *Value, gone map[axisID]int) []int {
	first := c.a.first[v]
	s := make([]int, c.a.rank[v])
	for i := range s {
		s[i] = int(c.a.axes[first+axisID(i)].size) - gone[first+axisID(i)]
	}
	return s
}

// macs are the multiply-adds of a node with shorter axes.
func (c *Channels) macs(n *Node, gone map[axisID]int) int64 {
	call := c.a.calls[n]
	if call == nil || n.op.Cost == nil || !settled(call) {
		return 0
	}
	x := *call
	x.In = append([]op.Type(nil), call.In...)
	x.Out = append([]op.Type(nil), call.Out...)
	for i, v := range n.reads() {
		if _, ok := c.a.first[v]; ok && i < len(x.In) {
			x.In[i] = x.In[i].With(op.Dims(c.shape(v, gone)...)...)
		}
	}
	for i, v := range n.out {
		if _, ok := c.a.first[v]; ok && i < len(x.Out) {
			x.Out[i] = x.Out[i].With(op.Dims(c.shape(v, gone)...)...)
		}
	}
	if len(x.In) > 2 {
		x.Config = hiddenSized(x.Config, x.In[2])
	}
	m, _ := n.op.Cost(&x)
	return m
}

// hiddenSized is the configuration of a recurrent cell with the hidden size of recurrence matrix r.
func hiddenSized(c op.Config, r op.Type) op.Config {
	if len(r.Shape) != 3 {
		return c
	}
	h := r.Shape[2].Size
	switch x := c.(type) {
	case op.LSTMConfig:
		x.HiddenSize = h
		return x
	case op.GRUConfig:
		x.HiddenSize = h
		return x
	case op.RNNConfig:
		x.HiddenSize = h
		return x
	}
	return c
}

// Makes says whether the atoms' indices on the parameter are rows that compute them, rather than
// columns that read them.
func (g *Group) Makes(p *Param) bool {
	in := map[*Value]bool{}
	for _, x := range g.axes {
		in[g.c.a.axes[x.axis].value] = true
	}
	return g.makes(p.value, in, 0)
}

func (g *Group) makes(v *Value, in map[*Value]bool, depth int) bool {
	if depth > 4 {
		return false
	}
	for _, n := range v.users {
		for _, o := range n.out {
			if o == nil || !in[o] {
				continue
			}
			if !n.derives() || g.makes(o, in, depth+1) {
				return true
			}
		}
	}
	return false
}

// derives says whether a node only rearranges parameters.
func (n *Node) derives() bool {
	for _, v := range n.in {
		if v != nil && v.param == nil && v.known.Value == nil && (v.producer == nil || !v.producer.derives()) {
			return false
		}
	}
	return true
}

// Makers are the nodes that compute values on which the group's atoms have indices.
func (g *Group) Makers() []*Node {
	var list []*Node
	seen := map[*Node]bool{}
	for _, x := range g.axes {
		if n := g.c.a.axes[x.axis].value.producer; n != nil && !seen[n] {
			seen[n] = true
			list = append(list, n)
		}
	}
	return list
}

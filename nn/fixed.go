package nn

import (
	"fmt"
	"slices"

	"github.com/graft-ml/graft/nn/internal/indices"
	"github.com/graft-ml/graft/nn/op/trait"
)

// Fixed reports why no index of an axis can be removed or added; nil if some can. The error names what fixes the axis,
// and the path that leads there.
func (c *Channels) Fixed(v *Value, axis int) error {
	c.made()
	defer c.g.entered().unlock()
	id, ok := c.a.of(v, axis)
	if !ok {
		return &Error{Stage: "resize", Node: v.id(), Err: fmt.Errorf("axis %d has no known length", axis)}
	}
	x := c.a.axes[id]
	var why *indices.Pin
	for _, w := range c.views {
		for i := range x.size {
			p := w.Pin(x.first + i)
			if p == nil {
				return nil
			}
			if why == nil || !p.Split {
				why = p
			}
		}
	}
	if why == nil {
		return nil
	}
	return &Error{Stage: "resize", Err: fmt.Errorf("axis %d of %s is fixed: %s%s", axis, v.label(), c.a.reason(why), c.through(id, why.Axis))}
}

// reason describes why a pin fixes indices.
func (a *analysis) reason(p *indices.Pin) reason {
	why := a.by[p.By]
	if p.Split {
		why.axis, why.text = a.axes[p.Axis].axis, "splits the axis, and only another factor of it can change"
	}
	return why
}

// label returns the name by which users know a value: that of the node that computes it.
func (v *Value) label() string {
	if v.producer != nil {
		return v.producer.label()
	}
	return v.name
}

// through names the last operators on a shortest path from one axis to another.
func (c *Channels) through(from, to axisID) string {
	if from == to {
		return ""
	}
	next := map[axisID][]step{}
	add := func(a, b axisID, n *Node) {
		next[a] = append(next[a], step{b, n})
		next[b] = append(next[b], step{a, n})
	}
	for _, set := range [][]indices.Relation{c.a.system.Relations, c.a.system.Norms} {
		for _, r := range set {
			add(r.A, r.B, c.a.by[r.By].node)
		}
	}
	for _, s := range c.a.system.Splits {
		for _, f := range s.Factors {
			for _, p := range f.Parts[1:] {
				add(f.Parts[0].Axis, p.Axis, c.a.by[s.By].node)
			}
		}
	}
	came := map[axisID]step{from: {}}
	queue := []axisID{from}
	for len(queue) > 0 && came[to].node == nil {
		id := queue[0]
		queue = queue[1:]
		for _, s := range next[id] {
			if _, seen := came[s.to]; !seen {
				came[s.to] = step{id, s.node}
				queue = append(queue, s.to)
			}
		}
	}
	var nodes []*Node
	for id := to; id != from && came[id].node != nil; id = came[id].to {
		if n := came[id].node; !slices.Contains(nodes, n) {
			nodes = append(nodes, n)
		}
	}
	for _, n := range nodes { // the operator nearest to the end that does more than pass channels on
		if c.a.rearranges(n) {
			return fmt.Sprintf(" through %s '%s'", n.opType, n.label())
		}
	}
	if len(nodes) > 0 {
		return fmt.Sprintf(" through %s '%s'", nodes[0].opType, nodes[0].label())
	}
	return ""
}

// rearranges reports whether a node does more to channels than pass them on or multiply them by a weight: moves them, or adds
// them to others.
func (a *analysis) rearranges(n *Node) bool {
	t := n.traits()
	switch {
	case t.Concat != nil || t.Picks != nil || t.Joins && t.Arithmetic != trait.Multiplies:
		return true
	case t.Moves == trait.Moved:
		return t.Range != nil // quantization maps each element by itself
	}
	d := a.spans[n]
	return t.Moves == trait.MovedInOrder && d.splitEnd > d.split
}

type step struct {
	to   axisID
	node *Node
}

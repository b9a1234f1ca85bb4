package nn

import (
	"fmt"
	"slices"

	"github.com/graft-ml/graft/nn/internal/indices"
	"github.com/graft-ml/graft/nn/op/trait"
)

// widen adds the atoms that a solver chose.
func (e *Edit) widen(c *Channels, s *solver, copying bool) { e.grow(c, s.added, nil, copying) }

// grow adds atoms to groups, each after the last one of its group, on every axis. Rows that compute new channels of a quiet
// group start at zero. The graph may have been cut since c was computed, so the groups are looked up again by their axes;
// those that share no axis grow together.
func (e *Edit) grow(c *Channels, added map[*Group]int, quiet map[*Group]bool, copying bool) {
	var todo []*Group
	for _, g := range c.groups {
		if added[g] != 0 {
			todo = append(todo, g)
		}
	}
	for len(todo) > 0 && e.err == nil {
		now := e.Channels()
		if e.err != nil {
			return
		}
		var batch []growing
		var later []*Group
		taken := map[axisID]bool{}
		for _, g := range todo {
			same := now.like(g)
			if same == nil {
				e.Failf("a group of channels no longer exists after the groups before it were widened")
				return
			}
			if slices.ContainsFunc(same.axes, func(x indices.Count) bool { return taken[x.Axis] }) {
				later = append(later, g)
				continue
			}
			for _, x := range same.axes {
				taken[x.Axis] = true
			}
			batch = append(batch, growing{same, growth{Count: added[g], Copy: copying, Quiet: quiet[g], Seed: e.seed}})
		}
		e.widenGroups(now, batch)
		todo = later
	}
}

// like finds the group on the same axes as one of an earlier analysis.
func (c *Channels) like(g *Group) *Group {
	type key struct {
		v           *Value
		axis, count int
	}
	set := make(map[key]bool, len(g.axes))
	for _, a := range g.axes {
		x := g.c.a.axes[a.Axis]
		set[key{x.value, x.axis, a.Count}] = true
	}
	if len(g.axes) == 0 {
		return nil
	}
	first := g.c.a.axes[g.axes[0].Axis]
	id, ok := c.a.of(first.value, first.axis)
	if !ok {
		return nil
	}
	for _, x := range c.on()[id] {
		if len(x.axes) == len(g.axes) && !slices.ContainsFunc(x.axes, func(a indices.Count) bool {
			y := c.a.axes[a.Axis]
			return !set[key{y.value, y.axis, a.Count}]
		}) {
			return x
		}
	}
	return nil
}

// layout is the new order of an axis: old indices, −1 for new ones, and the old index that each new one copies.
type layout struct {
	keep, like []int
}

// growing is a group and how it grows.
type growing struct {
	group *Group
	how   growth
}

// widenGroups grows groups that share no axis.
func (e *Edit) widenGroups(c *Channels, batch []growing) {
	e.round++
	w := e.onScales(c)
	keep := map[axisID][]int{}
	for _, b := range batch {
		e.widenGroup(c, b.group, b.how, keep)
	}
	f := &follower{e: e, c: c, keep: keep}
	if f.run(); e.err != nil {
		return
	}
	e.saved = append(e.saved, w.compare(keep))
	after := e.Channels()
	if e.err != nil {
		return
	}
	for _, b := range batch {
		if x := after.like(b.group); x == nil || len(x.Atoms) != len(b.group.Atoms)+b.how.Count {
			e.fail(&Error{Stage: "resize", Err: fmt.Errorf("a group of channels of %s cannot be widened: the channels would no longer form one group", e.g.name)})
			return
		}
	}
}

func (e *Edit) widenGroup(c *Channels, g *Group, how growth, keep map[axisID][]int) {
	plans := map[axisID]layout{}
	for i, x := range g.axes {
		plans[x.Axis] = g.layout(i, how.Count)
		keep[x.Axis] = plans[x.Axis].keep
	}
	how.Quiet = how.Quiet || c.contracted(g) || g.exposed()
	how.Copy = how.Copy && !how.Quiet // copies of queries and keys would count twice
	for _, rows := range []bool{true, false} {
		for _, x := range g.axes {
			a := c.a.axes[x.Axis]
			if g.makesAxis(x.Axis) != rows {
				continue
			}
			switch v := a.value; {
			case v.param != nil:
				e.growParam(v.param, a.axis, plans[x.Axis], rows, &how)
			case c.a.leaf[v]:
				e.growConstant(v, a.axis, plans[x.Axis], rows, &how)
			}
		}
	}
}

// layout returns the layout of axis i of the group with k more atoms.
func (g *Group) layout(i, k int) layout {
	id := g.axes[i].Axis
	a := g.c.a.axes[id]
	return stretch(int(a.size), int(a.first), g.Atoms[len(g.Atoms)-1].on(id), k)
}

func copied(l layout) []int {
	out := slices.Clone(l.keep)
	for i, x := range out {
		if x < 0 {
			out[i] = l.like[i]
		}
	}
	return out
}

// stretch inserts k copies after every run of the given elements.
func stretch(size, first int, slots []int32, k int) layout {
	at := map[int]bool{}
	for _, s := range slots {
		at[int(s)-first] = true
	}
	var l layout
	var run []int
	for i := range size {
		l.keep, l.like = append(l.keep, i), append(l.like, i)
		if at[i] {
			run = append(run, i)
		}
		if at[i] && !at[i+1] {
			for range k {
				for _, r := range run {
					l.keep, l.like = append(l.keep, -1), append(l.like, r)
				}
			}
			run = nil
		}
	}
	return l
}

// makesAxis reports whether indices of the axis are rows that compute channels, not columns that read them.
func (g *Group) makesAxis(id axisID) bool {
	x := g.c.a.axes[id]
	for _, n := range x.value.users {
		if n.traits().Reads != nil {
			return !n.readsColumns(x.value, x.axis)
		}
		for _, o := range g.c.a.tied(id, n) {
			y := g.c.a.axes[o]
			if slices.Contains(n.out, y.value) && (!g.c.derives(n) || g.makesAxis(o)) {
				return true
			}
		}
	}
	return false
}

// readsColumns reports whether indices along an axis of a parameter are columns to a node that can tell.
func (n *Node) readsColumns(v *Value, axis int) bool {
	for i, x := range n.in {
		if x == v && n.traits().Reads(i, axis) {
			return true
		}
	}
	return false
}

// exposed reports whether the group's indices are used by anything but weights that read them: a sum, a norm, or rows that
// are read as columns elsewhere. New ones must then be zero.
func (g *Group) exposed() bool {
	for _, x := range g.axes {
		v := g.c.a.axes[x.Axis].value
		if v.param != nil && g.makesAxis(x.Axis) && g.readsAxis(x.Axis) {
			return true
		}
		if slices.ContainsFunc(v.users, func(n *Node) bool { return n.op != nil && n.op.Traits.Reduces == trait.Sums && g.ends(x.Axis, n) }) {
			return true
		}
	}
	return false
}

// readsAxis reports whether indices of a parameter's axis are columns that read channels.
func (g *Group) readsAxis(id axisID) bool {
	x := g.c.a.axes[id]
	for _, n := range x.value.users {
		switch {
		case n.traits().Reads != nil:
			return n.readsColumns(x.value, x.axis)
		case !g.c.derives(n):
			if g.ends(id, n) {
				return true
			}
		case slices.ContainsFunc(g.c.a.tied(id, n), func(o axisID) bool {
			return slices.Contains(n.out, g.c.a.axes[o].value) && g.readsAxis(o)
		}):
			return true
		}
	}
	return false
}

// ends reports whether no output of the node has the indices of an axis that it reads.
func (g *Group) ends(id axisID, n *Node) bool {
	return !slices.ContainsFunc(g.c.a.tied(id, n), func(o axisID) bool { return slices.Contains(n.out, g.c.a.axes[o].value) })
}

// tied lists the axes that a node ties to one of its own.
func (a *analysis) tied(id axisID, n *Node) []axisID {
	var list []axisID
	at := a.spans[n]
	for _, set := range [][]indices.Relation{a.system.Relations[at.rel:at.relEnd], a.system.Norms[at.norm:at.normEnd]} {
		for i := range set {
			list = appendOther(list, &set[i], id)
		}
	}
	for i := range a.system.Splits[at.split:at.splitEnd] {
		list = appendFactors(list, &a.system.Splits[at.split+i], id)
	}
	return list
}

// contracted reports whether the group's indices are summed over between two computed values, as
// those of queries and keys are: new ones must then be zero.
func (c *Channels) contracted(g *Group) bool {
	for _, a := range g.axes {
		for _, r := range c.related()[a.Axis] {
			x, y, out := c.a.axes[r.A].value, c.a.axes[r.B].value, c.a.by[r.By].node.out
			if a.Count == 0 || g.per(r.B) == 0 || x.param != nil || y.param != nil || slices.Contains(out, x) || slices.Contains(out, y) {
				continue
			}
			if !c.derives(x.producer) && !c.derives(y.producer) {
				return true
			}
		}
	}
	return false
}

package nn

import (
	"context"
	"iter"
	"slices"
	"sync"

	"github.com/graft-ml/graft/internal/engine"
	"github.com/graft-ml/graft/nn/internal/indices"
)

// Channels describes which indices of the axes of a graph belong together, in one version of the graph: which can only be
// removed together (an Atom) and which axes they are on (a Group).
type Channels struct {
	g       *Graph
	a       *analysis
	views   []*indices.View
	groups  []*Group
	version int
	derived map[*Node]bool                       // nodes that only rearrange parameters
	on      func() map[axisID][]*Group           // the groups that have indices on an axis
	related func() map[axisID][]indices.Relation // the relations of an axis, as their first
	change  int                                  // number of the edit's last change when the analysis was made
}

// Group is a set of atoms of the same form, which have the same number of indices on each axis: the channels of a layer
// and of what is added to it, the hidden units of a recurrent cell, or the heads of an attention.
type Group struct {
	Atoms []*Atom // the smallest sets of indices that can be removed, in the order of the channels
	// Normalized reports whether a normalization, a softmax or a mean runs over the indices: removing some changes what the
	// model computes even if the parameters removed are zero.
	Normalized bool

	c    *Channels
	axes []indices.Count
	on   map[axisID]int // the counts of axes
}

// Atom is a set of indices, on any number of axes, that can only be removed together.
type Atom struct {
	group *Group
	slots []int32 // elements of the analysis, ascending
}

// ParamSlice is a set of indices on one axis of a parameter.
type ParamSlice struct {
	Param *Param // the parameter
	Axis  int    // one of its axes
	Index []int  // ascending
}

// Channels analyzes which indices of the graph's axes belong together. It takes time and memory in proportion to the sum
// of the lengths of all axes.
func (g *Graph) Channels() *Channels {
	c, _ := g.ChannelsUntil(context.Background())
	return c
}

// ChannelsUntil is Channels, ended by ctx, with its error.
func (g *Graph) ChannelsUntil(ctx context.Context) (*Channels, error) {
	g.there()
	defer g.locked().unlock()
	return g.channels(ctx)
}

// Channels returns the same as Graph.Channels, for the graph with the changes made so far.
func (e *Edit) Channels() *Channels {
	if e.sortNodes(); e.err != nil {
		return nil
	}
	if err := e.infer(); err != nil {
		e.fail(err)
		return nil
	}
	if c := e.channels; c != nil && c.change == e.last() {
		return c
	}
	c, err := e.g.channels(e.watched().context())
	if err != nil {
		e.fail(err)
		return nil
	}
	c.change = e.last()
	e.channels = c
	return c
}

func (g *Graph) channels(ctx context.Context) (*Channels, error) {
	c := &Channels{g: g, a: g.analyse(ctx), version: g.version, derived: g.derivations()}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	ofParam := make([]bool, len(c.a.axes))
	for i, x := range c.a.axes {
		ofParam[i] = x.value.param != nil
	}
	system := &c.a.system
	var views []*indices.View
	var forms []*indices.Form
	if err := engine.Await(ctx, func() { // reads and changes nothing of the graph
		views = system.Views()
		forms = system.Forms(views, func(id axisID) bool { return ofParam[id] })
	}); err != nil {
		return nil, err
	}
	c.views = views
	for _, f := range forms {
		c.groups = append(c.groups, c.group(f))
	}
	c.on = sync.OnceValue(func() map[axisID][]*Group {
		on := map[axisID][]*Group{}
		for _, g := range c.groups {
			for _, x := range g.axes {
				on[x.Axis] = append(on[x.Axis], g)
			}
		}
		return on
	})
	c.related = sync.OnceValue(func() map[axisID][]indices.Relation {
		related := map[axisID][]indices.Relation{}
		for _, r := range c.a.system.Relations {
			related[r.A] = append(related[r.A], r)
		}
		return related
	})
	return c, nil
}

// group returns the group of a form.
func (c *Channels) group(f *indices.Form) *Group {
	g := &Group{Normalized: f.Normalized, c: c, axes: f.Axes, on: make(map[axisID]int, len(f.Axes))}
	for _, x := range f.Axes {
		g.on[x.Axis] = x.Count
	}
	for _, set := range f.Sets {
		g.Atoms = append(g.Atoms, &Atom{group: g, slots: set})
	}
	return g
}

// Groups returns the groups that contain axes of parameters, in the order of the nodes that compute their channels.
func (c *Channels) Groups() []*Group { return slices.Clone(c.groups) }

// Group returns the group that the atom belongs to.
func (a *Atom) Group() *Group { return a.group }

// Slices returns the indices of parameters that belong to the atom.
func (a *Atom) Slices() []ParamSlice {
	if a.group == nil {
		return nil
	}
	var list []ParamSlice
	for id, slots := range a.parts() {
		c := a.group.c.a.axes[id]
		if p := c.value.param; p != nil {
			s := ParamSlice{Param: p, Axis: c.axis}
			for _, e := range slots {
				s.Index = append(s.Index, int(e-c.first))
			}
			list = append(list, s)
		}
	}
	return list
}

// parts returns the elements of the atom, axis by axis.
func (a *Atom) parts() iter.Seq2[axisID, []int32] {
	return func(yield func(axisID, []int32) bool) {
		at := 0
		for _, x := range a.group.axes {
			if !yield(x.Axis, a.slots[at:at+x.Count]) {
				return
			}
			at += x.Count
		}
	}
}

// on returns the elements of the atom on one axis.
func (a *Atom) on(id axisID) []int32 {
	for x, slots := range a.parts() {
		if x == id {
			return slots
		}
	}
	return nil
}

// claim marks the group's elements on some axes as taken; false if another group has one of them.
func (g *Group) claim(taken map[int32]bool, on ...axisID) bool {
	var list []int32
	for _, a := range g.Atoms {
		for _, id := range on {
			list = append(list, a.on(id)...)
		}
	}
	if slices.ContainsFunc(list, func(e int32) bool { return taken[e] }) {
		return false
	}
	for _, e := range list {
		taken[e] = true
	}
	return true
}

// Values returns the axes of computed values on which the group's atoms have indices.
func (g *Group) Values() []AxisSize {
	var list []AxisSize
	for _, x := range g.axes {
		if c := g.c.a.axes[x.Axis]; c.value.param == nil {
			list = append(list, AxisSize{c.value, c.axis, int(c.size), x.Count})
		}
	}
	return list
}

// Params returns the axes of parameters on which the group's atoms have indices.
func (g *Group) Params() []AxisSize {
	var list []AxisSize
	for _, x := range g.axes {
		if c := g.c.a.axes[x.Axis]; c.value.param != nil {
			list = append(list, AxisSize{c.value, c.axis, int(c.size), x.Count})
		}
	}
	return list
}

// AxisSize describes an axis of a value on which the atoms of a group have indices.
type AxisSize struct {
	Value   *Value // the value
	Axis    int    // one of its axes
	Size    int    // the length of the axis
	PerAtom int    // number of indices on it that belong to one atom
}

// Nodes returns the nodes that read a parameter of the group, in topological order.
func (g *Group) Nodes() []*Node {
	g.c.made()
	defer g.c.g.entered().unlock()
	set := map[*Node]bool{}
	var list []*Node
	for _, x := range g.axes {
		if v := g.c.a.axes[x.Axis].value; v.param != nil {
			for _, n := range v.users {
				if !set[n] && g.c.g.lists(n) {
					set[n] = true
					list = append(list, n)
				}
			}
		}
	}
	inOrder(list)
	return list
}

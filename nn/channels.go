package nn

import (
	"slices"
)

// Channels says which indices of which axes hang together in a graph, as of one version of it. The
// pieces are atoms: sets of indices that can only leave together.
type Channels struct {
	g       *Graph
	a       *analysis
	views   []*view
	groups  []*Group
	version int
	derived map[*Node]bool // nodes that only rearrange parameters
	change  int            // number of the last change in it
}

// Group is a set of atoms of the same form: each has as many indices on each axis as the others.
// They are channels of one trunk, hidden units of one cell, heads of one attention.
type Group struct {
	Atoms []*Atom // what can go by itself, in the order of the channels
	// Normalized says that a normalization, a softmax or a mean runs over the indices: to cut them
	// changes what the model computes even where the parameters cut were zero.
	Normalized bool

	c    *Channels
	axes []axisCount
	on   map[axisID]int // the counts of axes
}

type axisCount struct {
	axis  axisID
	count int
}

// Atom is a set of indices that leave together.
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

// Channels analyses the graph: time and memory are in proportion to the lengths of all axes.
func (g *Graph) Channels() *Channels {
	g.there()
	g.mu.RLock()
	defer g.mu.RUnlock()
	g.arrange()
	return g.channels()
}

// Channels is Graph.Channels inside an edit, with the changes so far.
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
	c := e.g.channels()
	c.change = e.last()
	e.channels = c
	return c
}

func (g *Graph) channels() *Channels {
	c := &Channels{g: g, a: g.analyse(), version: g.version, derived: g.derivations()}
	c.views = c.a.views()
	seen := map[uint64]bool{}
	for _, v := range c.views {
		c.collect(v, seen)
	}
	return c
}

// Groups are the groups that have parameters to cut, in the order of the nodes that make them.
func (c *Channels) Groups() []*Group { return slices.Clone(c.groups) }

// collect adds the atoms of a view that no view before had.
func (c *Channels) collect(v *view, seen map[uint64]bool) {
	n := c.a.total
	count := make([]int32, n+1) // per root, then where its slots begin
	for i := range n {
		if r := v.find(i); v.why[r] == 0 {
			count[r]++
		}
	}
	start := make([]int32, n)
	at := int32(0)
	for i := range n {
		start[i] = at
		at += count[i]
	}
	slots := make([]int32, at)
	fill := slices.Clone(start)
	for i := range n {
		if r := v.find(i); v.why[r] == 0 {
			slots[fill[r]] = i
			fill[r]++
		}
	}
	owner := c.owners()
	groups := map[uint64]*Group{}
	for r := range n {
		if count[r] == 0 {
			continue
		}
		list := slots[start[r] : start[r]+count[r]]
		if key := hashSlots(list); !seen[key] {
			seen[key] = true
			c.place(groups, list, owner, v.norm[r])
		}
	}
}

// owners maps elements to their axes.
func (c *Channels) owners() []axisID {
	o := make([]axisID, c.a.total)
	for id, x := range c.a.axes {
		for i := range x.size {
			o[x.first+i] = axisID(id)
		}
	}
	return o
}

// place puts an atom into the group of its form. An atom without a parameter is of no use.
func (c *Channels) place(groups map[uint64]*Group, list []int32, owner []axisID, norm bool) {
	var axes []axisCount
	useful := false
	key := uint64(1469598103934665603)
	if norm {
		key++
	}
	for _, e := range list {
		id := owner[e]
		if n := len(axes); n > 0 && axes[n-1].axis == id {
			axes[n-1].count++
			continue
		}
		axes = append(axes, axisCount{id, 1})
		useful = useful || c.a.axes[id].value.param != nil
	}
	for _, x := range axes {
		if n := c.a.axes[x.axis].size; n > 1 && int(n) == x.count {
			return // without it nothing would be left
		}
	}
	if !useful {
		return
	}
	for _, x := range axes {
		key = mix(key ^ mix(uint64(x.axis)<<32|uint64(x.count)))
	}
	g := groups[key]
	if g == nil {
		g = &Group{c: c, axes: axes, Normalized: norm, on: make(map[axisID]int, len(axes))}
		for _, x := range axes {
			g.on[x.axis] = x.count
		}
		groups[key] = g
		c.groups = append(c.groups, g)
	}
	g.Atoms = append(g.Atoms, &Atom{group: g, slots: slices.Clip(list)})
}

func hashSlots(list []int32) uint64 {
	h := uint64(len(list))
	for _, e := range list {
		h = mix(h ^ uint64(e))
	}
	return h
}

// mix is the finalizer of splitmix64.
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// Group is the group that the atom belongs to.
func (a *Atom) Group() *Group { return a.group }

// Slices are the parameter indices of the atom.
func (a *Atom) Slices() []ParamSlice {
	if a.group == nil {
		return nil
	}
	var list []ParamSlice
	i := 0
	for _, x := range a.group.axes {
		c := a.group.c.a.axes[x.axis]
		if p := c.value.param; p != nil {
			s := ParamSlice{Param: p, Axis: c.axis}
			for _, e := range a.slots[i : i+x.count] {
				s.Index = append(s.Index, int(e-c.first))
			}
			list = append(list, s)
		}
		i += x.count
	}
	return list
}

// Values lists the axes of computed values on which the group's atoms have indices.
func (g *Group) Values() []AxisSize {
	var list []AxisSize
	for _, x := range g.axes {
		if c := g.c.a.axes[x.axis]; c.value.param == nil {
			list = append(list, AxisSize{c.value, c.axis, int(c.size), x.count})
		}
	}
	return list
}

// Params lists the axes of parameters on which the group's atoms have indices.
func (g *Group) Params() []AxisSize {
	var list []AxisSize
	for _, x := range g.axes {
		if c := g.c.a.axes[x.axis]; c.value.param != nil {
			list = append(list, AxisSize{c.value, c.axis, int(c.size), x.count})
		}
	}
	return list
}

// AxisSize is an axis of a value, its length, and how many indices an atom has on it.
type AxisSize struct {
	Value   *Value // the value
	Axis    int    // one of its axes
	Size    int    // the length of the axis
	PerAtom int    // indices of it that one atom has
}

// Nodes are the nodes that read a parameter of the group, in topological order.
func (g *Group) Nodes() []*Node {
	g.c.made()
	set := map[*Node]bool{}
	for _, x := range g.axes {
		if v := g.c.a.axes[x.axis].value; v.param != nil {
			for _, n := range v.users {
				set[n] = true
			}
		}
	}
	var list []*Node
	for _, n := range g.c.g.nodes {
		if set[n] {
			list = append(list, n)
		}
	}
	return list
}

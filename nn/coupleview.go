package nn

import (
	"slices"

	"github.com/graft-ml/graft/nn/op/coupling"
)

// split says that axes are products of factors (heads·features, groups·within, c·h·w). In one view
// at most one factor of each axis is free: its indices may leave, each with all that it holds.
type split struct {
	node     *Node
	reshaped bool // the axes are those of a reshaped value, rather than groups
	factors  []factor
}

// factor is one factor of a split and where it stands.
type factor struct {
	size  int
	norm  bool // a normalization runs over it
	parts []part
}

// part places a factor on an axis of outer·size·inner indices.
type part struct {
	axis         axisID
	outer, inner int
}

func (s *split) place(i int, id axisID, outer, inner int) {
	for _, p := range s.factors[i].parts {
		if p.axis == id {
			return
		}
	}
	s.factors[i].parts = append(s.factors[i].parts, part{id, outer, inner})
}

func (f *factor) holds(id axisID) bool {
	for _, p := range f.parts {
		if p.axis == id {
			return true
		}
	}
	return false
}

// view is one way to choose the free factors, and which indices it ties.
type view struct {
	a      *analysis
	parent []int32
	why    []int32 // at a root: 1 + the pin that fixes it, 0: none
	norm   []bool  // at a root: a normalization runs over the indices
	pins   []pin
}

func (a *analysis) view() *view {
	v := &view{a: a, parent: make([]int32, a.total), why: make([]int32, a.total), norm: make([]bool, a.total), pins: slices.Clip(a.pins)}
	for i := range v.parent {
		v.parent[i] = int32(i)
	}
	return v
}

func (v *view) clone() *view {
	return &view{a: v.a, parent: slices.Clone(v.parent), why: slices.Clone(v.why), norm: slices.Clone(v.norm), pins: slices.Clip(v.pins)}
}

func (v *view) find(i int32) int32 {
	for v.parent[i] != i {
		v.parent[i] = v.parent[v.parent[i]]
		i = v.parent[i]
	}
	return i
}

func (v *view) union(i, j int32) {
	i, j = v.find(i), v.find(j)
	if i == j {
		return
	}
	if j < i {
		i, j = j, i
	}
	v.parent[j] = i
	if v.why[i] == 0 || v.why[j] != 0 && v.why[j] < v.why[i] {
		v.why[i] = v.why[j]
	}
	v.norm[i] = v.norm[i] || v.norm[j]
}

// base ties what holds in every view.
func (v *view) base() {
	for _, set := range [][]relation{v.a.rel, v.a.norm} {
		for _, r := range set {
			v.relate(r)
		}
	}
	for _, r := range v.a.norm {
		x := v.a.axes[r.a]
		for i := range x.size {
			v.norm[v.find(x.first+i)] = true
		}
	}
	for i, p := range v.pins {
		v.fix(i, p)
	}
}

func (v *view) fix(i int, p pin) {
	x := v.a.axes[p.axis]
	for k := p.lo; k < p.hi; k++ {
		if r := v.find(x.first + k); v.why[r] == 0 {
			v.why[r] = int32(i + 1)
		}
	}
}

func (v *view) pin(p pin) {
	v.pins = append(v.pins, p)
	v.fix(len(v.pins)-1, p)
}

// relate ties two axes by an index map.
func (v *view) relate(r relation) {
	a, b := v.a.axes[r.a], v.a.axes[r.b]
	n, m := int(a.size), int(b.size)
	switch r.m.Relation {
	case coupling.Identity, coupling.Norm:
		for i := range a.size {
			v.union(a.first+i, b.first+i)
		}
	case coupling.Offset:
		for i := range n {
			if j := offset(r.m, i, m); j >= 0 {
				v.union(a.first+int32(i), b.first+int32(j))
			}
		}
	case coupling.Permutation:
		for i, j := range r.m.Perm {
			if j >= 0 && j < m {
				v.union(a.first+int32(i), b.first+int32(j))
			}
		}
	case coupling.Factor, coupling.Gates:
		outer, inner := r.m.Outer, r.m.Inner
		if r.m.Relation == coupling.Gates {
			outer, inner = r.m.Groups, 1
		}
		for i := range n {
			v.slices(a.first+int32(i), b.first, i, n, outer, inner)
		}
	}
}

// slices ties element e with index i of a factor of n indices on an axis that begins at first.
func (v *view) slices(e, first int32, i, n, outer, inner int) {
	for o := range outer {
		for k := range inner {
			v.union(e, first+int32((o*n+i)*inner+k))
		}
	}
}

// chooser picks the free factors of all splits: each axis has at most one. Factors that are the
// same indices on tied axes are chosen together.
type chooser struct {
	a      *analysis
	dead   func(f *factor) bool
	class  [][]int          // of each factor of each split
	axes   map[int][]axisID // of each class
	byAxis map[axisID][]int // live classes of an axis, the outermost first
	order  []axisID
	groups map[axisID]bool // axes that fall into groups, rather than being reshaped
}

func (a *analysis) chooser(tied *view, dead func(f *factor) bool) *chooser {
	c := &chooser{a: a, dead: dead, axes: map[int][]axisID{}, byAxis: map[axisID][]int{}, groups: map[axisID]bool{}}
	parent := []int{}
	find := func(i int) int {
		for parent[i] != i {
			i = parent[i]
		}
		return i
	}
	type place struct{ root, size, outer, inner int32 }
	at := map[place]int{}
	for i := range a.splits {
		var ids []int
		for j := range a.splits[i].factors {
			id := len(parent)
			parent = append(parent, id)
			ids = append(ids, id)
			for _, p := range a.splits[i].factors[j].parts {
				x := a.axes[p.axis]
				key := place{tied.find(x.first), x.size, int32(p.outer), int32(p.inner)}
				if other, ok := at[key]; ok {
					parent[find(id)] = find(other)
				} else {
					at[key] = id
				}
			}
		}
		c.class = append(c.class, ids)
	}
	for i := range a.splits {
		s := &a.splits[i]
		for j := range s.factors {
			k := find(c.class[i][j])
			c.class[i][j] = k
			if s.factors[j].size < 2 || dead(&s.factors[j]) {
				continue
			}
			for _, p := range s.factors[j].parts {
				c.axes[k] = append(c.axes[k], p.axis)
				if c.byAxis[p.axis] == nil {
					c.order = append(c.order, p.axis)
				}
				if !slices.Contains(c.byAxis[p.axis], k) {
					c.byAxis[p.axis] = append(c.byAxis[p.axis], k)
				}
				c.groups[p.axis] = c.groups[p.axis] || !s.reshaped
			}
		}
	}
	return c
}

// choose prefers, on each axis that leaves a choice, candidate number reshaped or grouped, counted
// from the outermost, unless another one follows from what was chosen before.
func (c *chooser) choose(reshaped, grouped int) map[int]bool {
	free, taken := map[int]bool{}, map[axisID]int{}
	take := func(k int) bool {
		for _, id := range c.axes[k] {
			if other, ok := taken[id]; ok && other != k {
				return false
			}
		}
		free[k] = true
		for _, id := range c.axes[k] {
			taken[id] = k
		}
		return true
	}
	for _, choice := range []bool{true, false} {
		for _, id := range c.order {
			list := c.byAxis[id]
			if _, done := taken[id]; done || (len(list) > 1) != choice {
				continue
			}
			at := reshaped
			if c.groups[id] {
				at = grouped
			}
			at = min(at, len(list)-1)
			for i := range list {
				if take(list[(at+i)%len(list)]) {
					break
				}
			}
		}
	}
	return free
}

// of is what is free in split i.
func (c *chooser) of(i int, free map[int]bool) map[int]bool {
	out := map[int]bool{}
	for j := range c.a.splits[i].factors {
		f := &c.a.splits[i].factors[j]
		out[j] = f.size > 1 && !c.dead(f) && free[c.class[i][j]]
	}
	return out
}

// splitUp applies a split with the given factors free.
func (v *view) splitUp(s *split, free map[int]bool) {
	open := map[axisID]bool{}
	for i := range s.factors {
		if !free[i] {
			continue
		}
		f := &s.factors[i]
		first := f.parts[0]
		for _, p := range f.parts {
			open[p.axis] = true
			for k := range f.size {
				e := v.a.axes[first.axis].first + int32(k*first.inner)
				v.slices(e, v.a.axes[p.axis].first, k, f.size, p.outer, p.inner)
				if f.norm {
					v.norm[v.find(e)] = true
				}
			}
		}
	}
	for i := range s.factors {
		for _, p := range s.factors[i].parts {
			if !open[p.axis] {
				open[p.axis] = true
				x := v.a.axes[p.axis]
				v.pin(pin{p.axis, 0, x.size, reason{node: s.node, axis: x.axis, text: "splits the axis, and another factor is free here"}})
			}
		}
	}
}

// views are the useful ways to choose free factors.
func (a *analysis) views() []*view {
	base := a.view()
	base.base()
	if len(a.splits) == 0 {
		return []*view{base}
	}
	first := base.clone()
	for i := range a.splits { // axes that are one factor on both sides
		for _, f := range a.splits[i].factors {
			for _, p := range f.parts[1:] {
				if whole(f.parts[0]) && whole(p) {
					first.relate(relation{a: f.parts[0].axis, b: p.axis})
				}
			}
		}
	}
	dead := func(f *factor) bool {
		for _, p := range f.parts {
			if whole(p) && first.pinned(p.axis) {
				return true
			}
		}
		return false
	}
	c := a.chooser(first, dead)
	turns := [2]int{1, 1}
	for id, list := range c.byAxis {
		k := 0
		if c.groups[id] {
			k = 1
		}
		turns[k] = max(turns[k], min(len(list), 4))
	}
	var list []*view
	for r := range turns[0] {
		for g := range turns[1] {
			v := base.clone()
			free := c.choose(r, g)
			for i := range a.splits {
				v.splitUp(&a.splits[i], c.of(i, free))
			}
			list = append(list, v)
		}
	}
	return list
}

func whole(p part) bool { return p.outer == 1 && p.inner == 1 }

// pinned says whether every index of an axis is fixed.
func (v *view) pinned(id axisID) bool {
	x := v.a.axes[id]
	for i := range x.size {
		if v.why[v.find(x.first+i)] == 0 {
			return false
		}
	}
	return x.size > 0
}

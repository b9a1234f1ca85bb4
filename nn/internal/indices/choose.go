package indices

import "slices"

// chooser picks the free factors of all splits: each axis has at most one. Factors that are the
// same indices on tied axes form a class and are chosen together.
type chooser struct {
	system *System
	dead   func(f *Factor) bool // reports whether none of its indices can be removed
	class  [][]int              // of each factor of each split
	axes   map[int][]Axis       // of each class
	byAxis map[Axis][]int       // live classes of an axis, the outermost first
	order  []Axis
	groups map[Axis]bool // axes that are divided into groups, rather than reshaped
}

// chooser returns a chooser for the relations and pins of base, which hold in every view.
func (s *System) chooser(base *View) *chooser {
	tied := base.clone()
	for i := range s.Splits { // axes that are one factor on both sides
		for _, f := range s.Splits[i].Factors {
			for _, p := range f.Parts[1:] {
				if f.Parts[0].whole() && p.whole() {
					tied.tie(Relation{A: f.Parts[0].Axis, B: p.Axis})
				}
			}
		}
	}
	dead := func(f *Factor) bool {
		return f.Size < 2 || slices.ContainsFunc(f.Parts, func(p Part) bool { return p.whole() && tied.pinned(p.Axis) })
	}
	c := &chooser{system: s, dead: dead, class: s.classes(tied), axes: map[int][]Axis{}, byAxis: map[Axis][]int{}, groups: map[Axis]bool{}}
	for i := range s.Splits {
		for j := range s.Splits[i].Factors {
			f, k := &s.Splits[i].Factors[j], c.class[i][j]
			if dead(f) {
				continue
			}
			for _, p := range f.Parts {
				c.axes[k] = append(c.axes[k], p.Axis)
				if c.byAxis[p.Axis] == nil {
					c.order = append(c.order, p.Axis)
				}
				if !slices.Contains(c.byAxis[p.Axis], k) {
					c.byAxis[p.Axis] = append(c.byAxis[p.Axis], k)
				}
				c.groups[p.Axis] = c.groups[p.Axis] || !s.Splits[i].Reshaped
			}
		}
	}
	return c
}

// classes numbers the factors of all splits; factors that are the same indices on tied axes get the same number.
func (s *System) classes(tied *View) [][]int {
	var parent []int
	find := func(i int) int {
		for parent[i] != i {
			i = parent[i]
		}
		return i
	}
	type place struct{ root, size, outer, inner int32 }
	at := map[place]int{}
	class := make([][]int, len(s.Splits))
	for i := range s.Splits {
		for j := range s.Splits[i].Factors {
			id := len(parent)
			parent = append(parent, id)
			class[i] = append(class[i], id)
			for _, p := range s.Splits[i].Factors[j].Parts {
				x := s.Spans[p.Axis]
				key := place{tied.find(x.First), x.Size, int32(p.Outer), int32(p.Inner)}
				if other, ok := at[key]; ok {
					parent[find(id)] = find(other)
				} else {
					at[key] = id
				}
			}
		}
	}
	for _, ids := range class {
		for j := range ids {
			ids[j] = find(ids[j])
		}
	}
	return class
}

// turns returns the maximum number of choices on a reshaped axis and on a grouped one, at most four.
func (c *chooser) turns() (reshaped, grouped int) {
	reshaped, grouped = 1, 1
	for id, list := range c.byAxis {
		if n := min(len(list), 4); c.groups[id] {
			grouped = max(grouped, n)
		} else {
			reshaped = max(reshaped, n)
		}
	}
	return reshaped, grouped
}

// choose prefers, on each axis with several candidates, candidate number reshaped or grouped, counted
// from the outermost, unless previous choices determine another one.
func (c *chooser) choose(reshaped, grouped int) map[int]bool {
	free, taken := map[int]bool{}, map[Axis]int{}
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
			if (len(list) > 1) != choice {
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

// of reports which factors of split i are free.
func (c *chooser) of(i int, free map[int]bool) []bool {
	factors := c.system.Splits[i].Factors
	out := make([]bool, len(factors))
	for j := range factors {
		out[j] = !c.dead(&factors[j]) && free[c.class[i][j]]
	}
	return out
}

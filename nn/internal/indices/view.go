package indices

import (
	"math"
	"slices"
)

// View is one way to choose the free factors: which indices are tied, and which are fixed.
type View struct {
	system *System
	parent []int32
	why    []int32 // at a root: the first pin that fixes it, or free
	norm   []bool  // at a root: a normalization runs over the indices
	pins   []Pin   // those of the system, then those of factors that are not free
}

// free marks elements that no pin fixes.
const free = math.MaxInt32

// base returns the relations and pins that hold in every view.
func (s *System) base() *View {
	n := s.Elements()
	v := &View{system: s, parent: make([]int32, n), why: slices.Repeat([]int32{free}, int(n)), norm: make([]bool, n), pins: slices.Clip(s.Pins)}
	for i := range v.parent {
		v.parent[i] = int32(i)
	}
	for _, r := range s.Relations {
		v.tie(r)
	}
	for _, r := range s.Norms {
		v.tie(r)
	}
	for _, r := range s.Norms {
		x := s.Spans[r.A]
		for i := range x.Size {
			v.norm[v.find(x.First+i)] = true
		}
	}
	for i := range v.pins {
		v.fix(i)
	}
	return v
}

func (v *View) clone() *View {
	return &View{system: v.system, parent: slices.Clone(v.parent), why: slices.Clone(v.why), norm: slices.Clone(v.norm), pins: slices.Clip(v.pins)}
}

// Pin returns the pin that fixes element e, nil if it is free.
func (v *View) Pin(e int32) *Pin {
	if i := v.why[v.find(e)]; i != free {
		return &v.pins[i]
	}
	return nil
}

func (v *View) find(i int32) int32 {
	for v.parent[i] != i {
		v.parent[i] = v.parent[v.parent[i]]
		i = v.parent[i]
	}
	return i
}

func (v *View) union(i, j int32) {
	i, j = v.find(i), v.find(j)
	if i == j {
		return
	}
	if j < i {
		i, j = j, i
	}
	v.parent[j] = i
	v.why[i] = min(v.why[i], v.why[j])
	v.norm[i] = v.norm[i] || v.norm[j]
}

// fix fixes the indices of pin i.
func (v *View) fix(i int) {
	p := &v.pins[i]
	first := v.system.Spans[p.Axis].First
	for k := p.Lo; k < p.Hi; k++ {
		r := v.find(first + k)
		v.why[r] = min(v.why[r], int32(i))
	}
}

// pinned reports whether every index of an axis is fixed.
func (v *View) pinned(id Axis) bool {
	x := v.system.Spans[id]
	for i := range x.Size {
		if v.Pin(x.First+i) == nil {
			return false
		}
	}
	return true
}

// split applies a split with the given factors free.
func (v *View) split(s *Split, free []bool) {
	open := map[Axis]bool{}
	for i := range s.Factors {
		if !free[i] {
			continue
		}
		f := &s.Factors[i]
		first := f.Parts[0]
		for _, p := range f.Parts {
			open[p.Axis] = true
			for k := range f.Size {
				e := v.system.Spans[first.Axis].First + int32(k*first.Inner)
				v.tieFactor(e, v.system.Spans[p.Axis].First, k, f.Size, p.Outer, p.Inner)
				if f.Normalized {
					v.norm[v.find(e)] = true
				}
			}
		}
	}
	for i := range s.Factors {
		for _, p := range s.Factors[i].Parts {
			if !open[p.Axis] {
				open[p.Axis] = true
				v.pins = append(v.pins, Pin{Axis: p.Axis, Hi: v.system.Spans[p.Axis].Size, By: s.By, Split: true})
				v.fix(len(v.pins) - 1)
			}
		}
	}
}

// Views returns the useful choices of free factors.
func (s *System) Views() []*View {
	base := s.base()
	if len(s.Splits) == 0 {
		return []*View{base}
	}
	c := s.chooser(base)
	reshaped, grouped := c.turns()
	var list []*View
	for r := range reshaped {
		for g := range grouped {
			v := base.clone()
			free := c.choose(r, g)
			for i := range s.Splits {
				v.split(&s.Splits[i], c.of(i, free))
			}
			list = append(list, v)
		}
	}
	return list
}

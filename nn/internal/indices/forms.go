package indices

import "slices"

// Form is a class of sets of indices with equal numbers on each axis: the units that can be removed,
// such as the channels of one trunk.
type Form struct {
	Axes       []Count   // in the order of the axes' numbers
	Normalized bool      // a normalization runs over the indices
	Sets       [][]int32 // elements, ascending; the sets in the order of their first elements
}

// Count is the number of indices that a set has on an axis.
type Count struct {
	Axis  Axis
	Count int
}

// Forms returns the sets of free indices that are tied in one of the views, by form, in the order in which
// they are found. It omits sets that contain all indices of an axis longer than 1, sets without a useful
// axis, and sets of earlier views.
func (s *System) Forms(views []*View, useful func(Axis) bool) []*Form {
	c := collector{system: s, useful: useful, owner: s.owners(), seen: map[uint64]bool{}}
	for _, v := range views {
		c.collect(v)
	}
	return c.forms
}

type collector struct {
	system *System
	useful func(Axis) bool
	owner  []Axis // of each element
	seen   map[uint64]bool
	forms  []*Form
}

// owners maps elements to their axes.
func (s *System) owners() []Axis {
	o := make([]Axis, s.Elements())
	for id, x := range s.Spans {
		for i := range x.Size {
			o[x.First+i] = Axis(id)
		}
	}
	return o
}

// collect adds the sets of a view that are not in an earlier view.
func (c *collector) collect(v *View) {
	n := c.system.Elements()
	count := make([]int32, n) // per root
	for i := range n {
		if r := v.find(i); v.why[r] == free {
			count[r]++
		}
	}
	start := make([]int32, n)
	at := int32(0)
	for i := range n {
		start[i] = at
		at += count[i]
	}
	elements := make([]int32, at)
	fill := slices.Clone(start)
	for i := range n {
		if r := v.find(i); v.why[r] == free {
			elements[fill[r]] = i
			fill[r]++
		}
	}
	forms := map[form]*Form{}
	for r := range n {
		if count[r] == 0 {
			continue
		}
		set := elements[start[r] : start[r]+count[r]]
		if key := hash(set); !c.seen[key] {
			c.seen[key] = true
			c.place(forms, set, v.norm[r])
		}
	}
}

// form identifies the sets of one form.
type form struct {
	axes uint64 // hash of the axes and the numbers of indices on them
	norm bool
}

// place adds a set to its form.
func (c *collector) place(forms map[form]*Form, set []int32, norm bool) {
	var axes []Count
	useful := false
	for _, e := range set {
		id := c.owner[e]
		if n := len(axes); n > 0 && axes[n-1].Axis == id {
			axes[n-1].Count++
			continue
		}
		axes = append(axes, Count{id, 1})
		useful = useful || c.useful(id)
	}
	if !useful {
		return
	}
	key := form{basis, norm}
	for _, x := range axes {
		if n := int(c.system.Spans[x.Axis].Size); n > 1 && n == x.Count {
			return // all indices of an axis would be removed
		}
		key.axes = fnv(fnv(key.axes, int32(x.Axis)), int32(x.Count))
	}
	f := forms[key]
	if f == nil {
		f = &Form{Axes: axes, Normalized: norm}
		forms[key] = f
		c.forms = append(c.forms, f)
	}
	f.Sets = append(f.Sets, slices.Clip(set))
}

func hash(set []int32) uint64 {
	h := uint64(basis)
	for _, e := range set {
		h = fnv(h, e)
	}
	return h
}

// basis is the offset basis of the hash (FNV-1a).
const basis = 14695981039346656037

// fnv adds a number to a hash.
func fnv(h uint64, x int32) uint64 { return (h ^ uint64(x)) * 1099511628211 }

package indices

import "slices"

// Form is sets of indices that have as many on each axis as the others: what can leave by itself, such as the channels of one trunk.
type Form struct {
	Axes       []Count   // in the order of the axes' numbers
	Normalized bool      // a normalization runs over the indices
	Sets       [][]int32 // elements, ascending; the sets in the order of their first elements
}

// Count is how many indices of an axis a set has.
type Count struct {
	Axis  Axis
	Count int
}

// Forms returns the sets of free indices that are tied in one of the views, by form, in the order in which they are found. A set is left out
// where it has all indices of an axis longer than 1, where no axis of it is useful, and where a view before had it.
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

// collect adds the sets of a view that no view before had.
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

// form is what the sets of one form have in common.
type form struct {
	axes uint64 // hash of the axes and how many indices of each
	norm bool
}

// place puts a set into its form.
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
			return // without it nothing would be left
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

// basis is what a hash begins with (FNV-1a).
const basis = 14695981039346656037

// fnv adds a number to a hash.
func fnv(h uint64, x int32) uint64 { return (h ^ uint64(x)) * 1099511628211 }

package nn

import (
	"github.com/graft-ml/graft/nn/internal/indices"
	"github.com/graft-ml/graft/nn/op/coupling"
	"github.com/graft-ml/graft/nn/op/trait"
)

// group splits axes that consist of equal groups.
func (k *coverage) group(f, t axisID, groups int) {
	s := k.grouped(f, groups)
	if k.a.axes[t].axis == 1 { // the weight's columns; its rows are axis 0
		s.Place(1, t, 1, 1)
		return
	}
	within := int(k.a.axes[t].size) / groups
	s.Factors = append(s.Factors, indices.Factor{Size: within})
	s.Place(0, t, 1, within)
	s.Place(len(s.Factors)-1, t, groups, 1)
}

// normGroup splits two axes in the same way, with a normalization over each group.
func (k *coverage) normGroup(f, t axisID, groups int) {
	s := k.grouped(f, groups)
	k.a.relate(f, t, coupling.Map{}, k.by)
	s.Factors[1].Normalized = true
	s.Place(0, t, 1, s.Factors[1].Size)
	s.Place(1, t, groups, 1)
}

// grouped returns the split of this node whose first factors are the groups of axis f and the indices within a group.
func (k *coverage) grouped(f axisID, groups int) *indices.Split {
	s := k.split()
	if len(s.Factors) == 0 {
		s.Factors = []indices.Factor{{Size: groups}, {Size: int(k.a.axes[f].size) / groups}}
		s.Place(0, f, 1, s.Factors[1].Size)
		s.Place(1, f, groups, 1)
	}
	return s
}

// split returns the split of this node, created on first use.
func (k *coverage) split() *indices.Split {
	list := &k.a.system.Splits
	if n := len(*list); n == 0 || (*list)[n-1].By != k.by {
		*list = append(*list, indices.Split{By: k.by})
	}
	return &(*list)[len(*list)-1]
}

// resplit ties input 0 and output 0, which hold the same elements row by row.
func (k *coverage) resplit() {
	in, out := k.c.In[0].Sizes(), k.c.Out[0].Sizes()
	if k.a.rank[k.n.input(0)] != len(in) || k.a.rank[k.n.output(0)] != len(out) {
		return // a length is unknown, as within an edit: the known axes are fixed
	}
	s := k.split()
	s.Reshaped = true
	i, j := 0, 0
	ra, rb := 1, 1 // what remains of the axes i−1 and j−1
	var ia, jb axisID
	left := map[axisID]int{} // elements of an axis after the factors found so far
	for {
		for ra == 1 && i < len(in) {
			ra, ia = in[i], k.a.first[k.n.in[0]]+axisID(i)
			left[ia] = ra
			k.in[coupling.In(0, i)] = ra > 1 // a length of 1 is not a factor of anything
			i++
		}
		for rb == 1 && j < len(out) {
			rb, jb = out[j], k.a.first[k.n.out[0]]+axisID(j)
			left[jb] = rb
			k.in[coupling.Out(0, j)] = rb > 1
			j++
		}
		if ra <= 1 || rb <= 1 {
			return
		}
		n := min(ra, rb)
		if ra%n != 0 || rb%n != 0 {
			k.misaligned(i-1, j-1)
			return
		}
		s.Factors = append(s.Factors, indices.Factor{Size: n})
		for _, id := range []axisID{ia, jb} {
			left[id] /= n
			s.Place(len(s.Factors)-1, id, int(k.a.axes[id].size)/left[id]/n, left[id])
		}
		ra, rb = ra/n, rb/n
	}
}

// misaligned fixes the axes from i and j on: no common factors.
func (k *coverage) misaligned(i, j int) {
	why := reason{node: k.n, text: "splits axes at boundaries that do not match"}
	for ; i < len(k.c.In[0].Shape); i++ {
		k.in[coupling.In(0, i)] = true
		why.axis = i
		k.a.pinAxis(k.a.first[k.n.in[0]]+axisID(i), why)
	}
	for ; j < len(k.c.Out[0].Shape); j++ {
		k.in[coupling.Out(0, j)] = true
		why.axis = j
		k.a.pinAxis(k.a.first[k.n.out[0]]+axisID(j), why)
	}
}

// special adds couplings that depend on more than the operator: on the values of constants, and on which
// values become zero.
func (k *coverage) special() {
	t := &k.n.op.Traits
	if t.Picks != nil {
		k.picked()
	}
	if t.Moves == trait.MovedOften && t.ShapeInput > 0 {
		k.repeated(t.ShapeInput)
	}
	if t.Reduces != trait.NoReduction {
		k.reduce()
	}
	k.contract()
	k.zeroes()
}

// picked couples what constant indices select on axes that no coupling mentions.
func (k *coverage) picked() {
	for axis := range k.c.In[0].Shape {
		in := coupling.In(0, axis)
		id, known := k.at(in)
		if !known || k.in[in] {
			continue
		}
		index := k.n.op.Traits.Picks(k.c, axis)
		if index == nil {
			continue
		}
		if len(k.c.Out[0].Shape) < len(k.c.In[0].Shape) {
			k.in[in] = true
			k.a.pin(id, index[0], index[0]+1, reason{node: k.n, axis: axis, text: "chooses the element"})
			continue
		}
		out := coupling.Out(0, axis)
		if k.n.op.Traits.Resize == nil || k.open(out) {
			continue // the indices would not follow, or differ between runs
		}
		k.in[in] = true
		if to, ok := k.at(out); ok {
			k.in[out] = true
			k.a.relate(to, id, coupling.Map{Relation: coupling.Permutation, Perm: index}, k.by)
		}
	}
}

// repeated frees the axes created by repetition to the shape in input i: their length is a number in the model.
func (k *coverage) repeated(i int) {
	in, out := k.c.In[0].Shape, k.c.Out[0].Shape
	for o := range out {
		a := o + len(in) - len(out)
		if a >= 0 && in[a].Size == 1 {
			k.in[coupling.In(0, a)] = true
		}
		if (a < 0 || in[a].Size == 1) && out[o].Size > 1 && settable(k.n.input(i), o) {
			k.in[coupling.Out(0, o)] = true
		}
	}
}

// freeAxes fixes those axes of an output whose lengths cannot be rewritten in input i.
func (a *analysis) freeAxes(n *Node, i int) {
	v := n.output(0)
	if v == nil {
		return
	}
	for x := range a.rank[v] {
		if settable(n.input(i), x) {
			continue
		}
		if of, axis := a.lengthOf(n.input(i), x); of != nil {
			a.relate(a.first[v]+axisID(x), a.first[of]+axisID(axis), coupling.Map{Relation: coupling.Identity}, a.because(reason{node: n}))
		} else {
			a.pinAxis(a.first[v]+axisID(x), reason{node: n, axis: x, text: "makes the axis"})
		}
	}
}

// lengthOf returns the value and the axis whose length is element at of an integer vector: computed by a node that reads
// lengths, and only selected and concatenated since. nil: the element is another number.
func (a *analysis) lengthOf(v *Value, at int) (of *Value, axis int) {
	n := v.source()
	switch t := n.traits(); {
	case t.Lengths != nil:
		for x := range a.rank[n.input(0)] {
			if i, ok := t.Lengths(n.call(), x); ok && i == at {
				return n.input(0), x
			}
		}
	case t.Moves == trait.MovedInOrder:
		return a.lengthOf(n.input(0), at)
	case t.Picks != nil && n.in[0].typ.Rank() == 1:
		if list := t.Picks(n.call(), 0); at < len(list) {
			return a.lengthOf(n.input(0), list[at])
		}
	case t.Concat != nil:
		return a.lengthOf(partAt(n, at))
	}
	return nil, 0
}

// partAt returns the input of a Concat of vectors that element at of the result comes from, and the position in it; nil if
// lengths are not known.
func partAt(n *Node, at int) (*Value, int) {
	for _, x := range n.in {
		if !x.typ.Static() {
			break
		}
		length := x.typ.Elements()
		if at < length {
			return x, at
		}
		at -= length
	}
	return nil, 0
}

// settable reports whether element at of an integer vector is a number in the model: a parameter or constant, as it is or as
// part of a Concat.
func settable(v *Value, at int) bool {
	switch {
	case v == nil:
		return false
	case v.param != nil || v.known.Value != nil:
		return true
	}
	n := v.producer
	switch t := n.traits(); {
	case t.Moves == trait.MovedInOrder:
		return settable(n.input(0), at)
	case t.Concat != nil:
		return settable(partAt(n, at))
	}
	return false
}

// reduce marks the axes that are reduced over.
func (k *coverage) reduce() {
	for x := range k.c.In[0].Shape {
		r := coupling.In(0, x)
		id, ok := k.at(r)
		if k.in[r] || !ok {
			continue
		}
		k.in[r] = true
		if k.n.op.Traits.Reduces != trait.Sums || !k.a.zeroed(id) {
			k.a.normalize(id, id, k.by)
		}
		for o := range k.c.Out[0].Shape { // what is kept of a reduced axis has one element
			if k.c.Out[0].Shape[o].Size == 1 {
				k.in[coupling.Out(0, o)] = true
			}
		}
	}
}

// contract marks contracted axes on which neither side becomes zero when the indices' parameters do.
func (k *coverage) contract() {
	reads := make(map[*Value]bool, len(k.n.in))
	for _, v := range k.n.in {
		reads[v] = true
	}
	for _, r := range k.a.system.Relations[k.firstRel():] {
		x, y := k.a.axes[r.A], k.a.axes[r.B]
		if !reads[x.value] || !reads[y.value] || k.a.zeroed(r.A) || k.a.zeroed(r.B) {
			continue
		}
		k.a.normalize(r.A, r.B, k.by)
	}
}

// firstRel returns the number of this node's first relation.
func (k *coverage) firstRel() int {
	i := len(k.a.system.Relations)
	for i > 0 && k.a.system.Relations[i-1].By == k.by {
		i--
	}
	return i
}

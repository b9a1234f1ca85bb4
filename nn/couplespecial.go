package nn

import (
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/std"
)

// group remembers axes that fall into equal groups; special makes a split of them.
func (k *coverage) group(f, t axisID, groups int) {
	s := k.split()
	if len(s.factors) == 0 {
		s.factors = []factor{{size: groups}, {size: int(k.a.axes[f].size) / groups}}
		s.place(0, f, 1, s.factors[1].size)
		s.place(1, f, groups, 1)
	}
	within := s.factors[1].size
	switch m := int(k.a.axes[t].size); {
	case k.n.opType == "GroupNormalization":
		k.a.rel = append(k.a.rel, relation{f, t, op.IndexMap{}, k.n})
		s.factors[1].norm = true
		s.place(0, t, 1, within)
		s.place(1, t, groups, 1)
	case k.a.axes[t].axis == 1: // the weight's columns; its rows are axis 0
		s.place(1, t, 1, 1)
	default:
		s.factors = append(s.factors, factor{size: m / groups})
		s.place(0, t, 1, m/groups)
		s.place(len(s.factors)-1, t, groups, 1)
	}
}

// split is the split of this node, made when first asked for.
func (k *coverage) split() *split {
	if n := len(k.a.splits); n > 0 && k.a.splits[n-1].node == k.n {
		return &k.a.splits[n-1]
	}
	k.a.splits = append(k.a.splits, split{node: k.n})
	return &k.a.splits[len(k.a.splits)-1]
}

// resplit ties input 0 and output 0, which hold the same elements row by row.
func (k *coverage) resplit() {
	if len(k.n.out) == 0 || k.n.out[0] == nil || k.n.in[0] == nil {
		return
	}
	in, out := k.c.In[0].Sizes(), k.c.Out[0].Sizes()
	s := k.split()
	i, j := 0, 0
	ra, rb := 1, 1 // what is left of the axes i−1 and j−1
	var ia, jb axisID
	left := map[axisID]int{} // elements of an axis behind the factors found so far
	for {
		for ra == 1 && i < len(in) {
			ra, ia = in[i], k.a.first[k.n.in[0]]+axisID(i)
			left[ia] = ra
			k.in[op.InAxis(0, i)] = ra > 1 // what is 1 long is no factor of anything
			i++
		}
		for rb == 1 && j < len(out) {
			rb, jb = out[j], k.a.first[k.n.out[0]]+axisID(j)
			left[jb] = rb
			k.in[op.OutAxis(0, j)] = rb > 1
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
		s.factors = append(s.factors, factor{size: n})
		for _, id := range []axisID{ia, jb} {
			left[id] /= n
			s.place(len(s.factors)-1, id, int(k.a.axes[id].size)/left[id]/n, left[id])
		}
		ra, rb = ra/n, rb/n
	}
}

// misaligned fixes the axes from i and j on: no common factors.
func (k *coverage) misaligned(i, j int) {
	why := reason{node: k.n, text: "splits axes where they do not meet"}
	for ; i < len(k.c.In[0].Shape); i++ {
		k.in[op.InAxis(0, i)] = true
		why.axis = i
		k.a.pinAxis(k.a.first[k.n.in[0]]+axisID(i), why)
	}
	for ; j < len(k.c.Out[0].Shape); j++ {
		k.in[op.OutAxis(0, j)] = true
		why.axis = j
		k.a.pinAxis(k.a.first[k.n.out[0]]+axisID(j), why)
	}
}

// special adds what needs more than an operator's own couplings: knowledge of constants and of
// what becomes zero.
func (k *coverage) special() {
	switch k.n.opType {
	case "Gather":
		k.gather()
	case "Expand":
		k.expand()
	}
	if k.n.op.Traits.Reduces != op.NoReduction {
		k.reduce()
	}
	k.contract()
	k.zeroes()
}

// gather ties what constant indices choose.
func (k *coverage) gather() {
	cfg, ok := k.n.config.(std.GatherConfig)
	if !ok || len(k.c.In) < 2 {
		return
	}
	axis := cfg.Axis
	if axis < 0 {
		axis += len(k.c.In[0].Shape)
	}
	in := op.InAxis(0, axis)
	id, known := k.at(in)
	index, err := k.c.Ints(1)
	if err != nil || !known || k.in[in] || len(k.c.In[1].Shape) > 1 {
		return
	}
	n := int(k.a.axes[id].size)
	perm := make([]int, len(index))
	for i, x := range index {
		if x < 0 {
			x += n
		}
		if x < 0 || x >= n {
			return
		}
		perm[i] = x
	}
	k.in[in] = true
	if len(k.c.In[1].Shape) == 0 {
		k.a.pins = append(k.a.pins, pin{id, int32(perm[0]), int32(perm[0] + 1), reason{node: k.n, axis: axis, text: "chooses the element"}})
		return
	}
	out := op.OutAxis(0, axis)
	if to, ok := k.at(out); ok {
		k.in[out] = true
		k.a.rel = append(k.a.rel, relation{to, id, op.IndexMap{Relation: op.Permutation, Perm: perm}, k.n})
	}
}

// expand lets the axes go that Expand makes: their length is a number in the model.
func (k *coverage) expand() {
	in, out := k.c.In[0].Shape, k.c.Out[0].Shape
	for o := range out {
		i := o + len(in) - len(out)
		if i >= 0 && in[i].Size == 1 {
			k.in[op.InAxis(0, i)] = true
		}
		if (i < 0 || in[i].Size == 1) && out[o].Size > 1 && k.a.settable(k.n.In(1), o) {
			k.in[op.OutAxis(0, o)] = true
		}
	}
}

// freeAxes pins the axes of an output whose lengths cannot be rewritten in input i.
func (a *analysis) freeAxes(n *Node, i int) {
	v := n.Out(0)
	if v == nil {
		return
	}
	for x := range a.rank[v] {
		if a.settable(n.In(i), x) {
			continue
		}
		if of, axis := a.lengthOf(n.In(i), x); of != nil {
			a.rel = append(a.rel, relation{a.first[v] + axisID(x), a.first[of] + axisID(axis), op.IndexMap{Relation: op.Identity}, n})
		} else {
			a.pinAxis(a.first[v]+axisID(x), reason{node: n, axis: x, text: "makes the axis"})
		}
	}
}

// lengthOf finds the value and the axis whose length is element at of an integer vector: Shape gave it, and nothing was done
// with it but picking and putting together. nil: it is another number.
func (a *analysis) lengthOf(v *Value, at int) (of *Value, axis int) {
	if v == nil || v.producer == nil || v.producer.domain != "" {
		return nil, 0
	}
	n := v.producer
	switch n.opType {
	case "Shape":
		if c, ok := n.config.(std.ShapeConfig); ok {
			rank := len(n.In(0).typ.Shape)
			start := c.Start
			if start < 0 {
				start += rank
			}
			at += max(0, min(start, rank))
		}
		if at < a.rank[n.In(0)] {
			return n.In(0), at
		}
	case "Cast", "Identity", "Unsqueeze", "Squeeze", "Reshape":
		return a.lengthOf(n.In(0), at)
	case "Gather":
		if list := a.intsOf(n, 1); at < len(list) {
			if at = list[at]; at < 0 {
				at += a.length(n.In(0))
			}
			return a.lengthOf(n.In(0), at)
		}
	case "Concat":
		for _, x := range n.in {
			if len(x.typ.Shape) != 1 || !x.typ.Shape[0].Known() {
				return nil, 0
			}
			if at < x.typ.Shape[0].Size {
				return a.lengthOf(x, at)
			}
			at -= x.typ.Shape[0].Size
		}
	}
	return nil, 0
}

// settable says whether element at of an integer vector is a number in the model.
func (a *analysis) settable(v *Value, at int) bool {
	_, _, ok := standing(v, at)
	return ok
}

// standing finds where element at of an integer vector stands in the model: a value without a
// producer but Constant, and the part of a Concat that brings it (nil when v itself is it).
func standing(v *Value, at int) (part *Node, input int, ok bool) {
	switch {
	case v == nil:
		return nil, 0, false
	case v.param != nil || v.known.Value != nil:
		return nil, 0, true
	case v.producer != nil && (v.producer.opType == "Cast" || v.producer.opType == "Identity"):
		return standing(v.producer.In(0), at)
	case v.producer != nil && v.producer.opType == "Concat":
		for i, x := range v.producer.in {
			n := x.typ.Shape
			if len(n) != 1 || !n[0].Known() {
				return nil, 0, false
			}
			if at < n[0].Size {
				return v.producer, i, x.param != nil || x.known.Value != nil
			}
			at -= n[0].Size
		}
	}
	return nil, 0, false
}

// reduce marks the axes that are reduced over.
func (k *coverage) reduce() {
	for x := range k.c.In[0].Shape {
		r := op.InAxis(0, x)
		id, ok := k.at(r)
		if k.in[r] || !ok {
			continue
		}
		k.in[r] = true
		if k.n.op.Traits.Reduces != op.Sums || !k.a.zeroed(id) {
			k.a.norm = append(k.a.norm, relation{id, id, op.IndexMap{Relation: op.Norm}, k.n})
		}
		for o := range k.c.Out[0].Shape { // what is kept of a reduced axis has one element
			if k.c.Out[0].Shape[o].Size == 1 {
				k.in[op.OutAxis(0, o)] = true
			}
		}
	}
}

// contract marks contracted axes on which neither side becomes zero when the indices' parameters do.
func (k *coverage) contract() {
	for _, r := range k.a.rel[k.firstRel():] {
		x, y := k.a.axes[r.a], k.a.axes[r.b]
		if !k.reads(x.value) || !k.reads(y.value) || k.a.zeroed(r.a) || k.a.zeroed(r.b) {
			continue
		}
		k.a.norm = append(k.a.norm, relation{r.a, r.b, op.IndexMap{Relation: op.Norm}, k.n})
	}
}

func (k *coverage) reads(v *Value) bool {
	for _, x := range k.n.in {
		if x == v {
			return true
		}
	}
	return false
}

// firstRel is where the relations of this node begin.
func (k *coverage) firstRel() int {
	i := len(k.a.rel)
	for i > 0 && k.a.rel[i-1].node == k.n {
		i--
	}
	return i
}

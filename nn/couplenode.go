package nn

import (
	"fmt"

	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/coupling"
)

// coverage applies the couplings of one node and remembers which axes they speak of.
type coverage struct {
	a   *analysis
	n   *Node
	c   *op.Call
	in  map[coupling.Axis]bool
	hit map[coupling.Axis][]bool // output axes of which only parts are spoken of
}

// at finds the axis that a reference means.
func (k *coverage) at(r coupling.Axis) (axisID, bool) {
	var v *Value
	if r.Output {
		v = k.n.Out(r.Slot)
	} else if reads := k.n.reads(); r.Slot < len(reads) {
		v = reads[r.Slot]
	}
	if v == nil {
		return 0, false
	}
	return k.a.of(v, r.Axis)
}

func (k *coverage) apply(list []coupling.Coupling) {
	if len(list) > 0 && list[0].Map.Relation == coupling.Resplit {
		k.resplit()
		return
	}
	for _, c := range list {
		f, ok1 := k.at(c.From)
		t, ok2 := k.at(c.To)
		if !ok1 || !ok2 {
			continue
		}
		n, m := int(k.a.axes[f].size), int(k.a.axes[t].size)
		if !fits(c.Map, n, m) {
			continue // pinned below, for nothing speaks of the axis
		}
		k.in[c.From], k.in[c.To] = true, true
		switch c.Map.Relation {
		case coupling.Norm:
			k.a.norm = append(k.a.norm, relation{f, t, c.Map, k.n})
		case coupling.Group:
			k.group(f, t, c.Map.Groups)
		case coupling.NormGroup:
			k.normGroup(f, t, c.Map.Groups)
		default:
			k.a.rel = append(k.a.rel, relation{f, t, c.Map, k.n})
		}
		k.part(c, n, m)
	}
}

// part remembers which indices of an output an Offset reaches.
func (k *coverage) part(c coupling.Coupling, n, m int) {
	if c.Map.Relation != coupling.Offset {
		return
	}
	mark := func(r coupling.Axis, size int, hit func(i int) int) {
		if !r.Output {
			return
		}
		if k.hit[r] == nil {
			k.hit[r] = make([]bool, size)
		}
		for i := range n {
			if j := hit(i); j >= 0 {
				k.hit[r][j] = true
			}
		}
	}
	mark(c.To, m, func(i int) int { return offset(c.Map, i, m) })
	mark(c.From, n, func(i int) int {
		if offset(c.Map, i, m) < 0 {
			return -1
		}
		return i
	})
}

// offset is where index i goes on an axis of length m, -1 when nowhere.
func offset(f coupling.Map, i, m int) int {
	j := i + f.Shift
	if j < 0 || j >= m || f.Count > 0 && min(i, j) >= f.Count {
		return -1
	}
	return j
}

// fits says whether a map makes sense between axes of lengths n and m.
func fits(f coupling.Map, n, m int) bool {
	switch f.Relation {
	case coupling.Identity, coupling.Norm:
		return n == m
	case coupling.Factor:
		return f.Outer*n*f.Inner == m
	case coupling.Gates:
		return f.Groups*n == m
	case coupling.Permutation:
		return len(f.Perm) == n
	case coupling.NormGroup:
		return f.Groups > 0 && n == m && n%f.Groups == 0
	case coupling.Group:
		return f.Groups > 0 && n%f.Groups == 0 && (m%f.Groups == 0 || m == n/f.Groups)
	}
	return true
}

// pinRest fixes the axes that no coupling spoke of.
func (k *coverage) pinRest() {
	for i, v := range k.n.reads() {
		if v == nil {
			continue
		}
		for x := range k.a.rank[v] {
			if r := coupling.In(i, x); !k.in[r] {
				id, _ := k.at(r)
				k.a.pinAxis(id, reason{node: k.n, axis: x, text: "works on the axis as a whole"})
			}
		}
	}
	for i, v := range k.n.out {
		if v == nil {
			continue
		}
		for x := range k.a.rank[v] {
			r := coupling.Out(i, x)
			id, _ := k.at(r)
			if !k.in[r] {
				k.a.pinAxis(id, reason{node: k.n, axis: x, text: "makes the axis"})
				continue
			}
			for j, hit := range k.hit[r] {
				if !hit {
					k.a.pins = append(k.a.pins, pin{id, int32(j), int32(j + 1), reason{node: k.n, axis: x, text: "adds elements"}})
				}
			}
		}
	}
}

func (r reason) String() string {
	switch {
	case r.port != nil:
		return fmt.Sprintf("%s '%s'", r.text, r.port.name)
	case r.node != nil:
		return fmt.Sprintf("%s '%s' %s", r.node.opType, r.node.Label(), r.text)
	}
	return r.text
}

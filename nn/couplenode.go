package nn

import (
	"fmt"

	"github.com/graft-ml/graft/nn/internal/indices"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/coupling"
)

// coverage applies the couplings of one node and records which axes they mention.
type coverage struct {
	a   *analysis
	n   *Node
	c   *op.Call
	by  int // the node, as a reason
	in  map[coupling.Axis]bool
	hit map[coupling.Axis][]bool // output axes that are only partly mentioned
}

// at resolves a reference to an axis.
func (k *coverage) at(r coupling.Axis) (axisID, bool) {
	var v *Value
	if r.Output {
		v = k.n.output(r.Slot)
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
		if !indices.Fits(c.Map, n, m) || c.Map.Relation == coupling.Offset && (k.open(c.From) || k.open(c.To)) {
			continue // fixed below, because no coupling mentions the axis
		}
		k.in[c.From], k.in[c.To] = true, true
		switch c.Map.Relation {
		case coupling.Norm:
			k.a.normalize(f, t, k.by)
		case coupling.Group:
			k.group(f, t, c.Map.Groups)
		case coupling.NormGroup:
			k.normGroup(f, t, c.Map.Groups)
		default:
			k.a.relate(f, t, c.Map, k.by)
		}
		k.part(c, n, m)
	}
}

// open reports whether the length of an axis may differ from its stand-in in other runs.
func (k *coverage) open(r coupling.Axis) bool {
	v := k.n.input(r.Slot)
	if r.Output {
		v = k.n.output(r.Slot)
	}
	return v != nil && r.Axis < len(v.typ.Shape) && !v.typ.Shape[r.Axis].Known()
}

// part records which indices of an output an Offset reaches.
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
	mark(c.To, m, func(i int) int { return indices.Offset(c.Map, i, m) })
	mark(c.From, n, func(i int) int {
		if indices.Offset(c.Map, i, m) < 0 {
			return -1
		}
		return i
	})
}

// pinRest fixes the axes that no coupling mentions.
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
					k.a.pin(id, j, j+1, reason{node: k.n, axis: x, text: "adds elements"})
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
		return fmt.Sprintf("%s '%s' %s", r.node.opType, r.node.label(), r.text)
	}
	return r.text
}

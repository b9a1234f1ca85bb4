package nn

import (
	"fmt"
	"slices"

	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"gorgonia.org/tensor"
)

// Cut is what a plan takes from one axis of one initializer.
type Cut struct {
	Initializer string `json:"initializer"`
	Axis        int    `json:"axis"`
	Removed     []int  `json:"removed"` // ascending, by the indices before the cut
	Node        string `json:"node"`    // the first node that reads it
	Before      int    `json:"before"`
	After       int    `json:"after"`
}

// Cost is what a model weighs.
type Cost struct {
	Params int   `json:"parameters"`
	MACs   int64 `json:"macs"` // with every open dimension at size 1
}

// RemoveAtoms takes atoms out of the model: the slices of every parameter, and every number in the
// model that follows a length. Atoms come from the Channels of this very state of the graph.
func (e *Edit) RemoveAtoms(atoms ...*Atom) {
	if e.err != nil || len(atoms) == 0 {
		return
	}
	c := atoms[0].group.c
	if c.g != e.g || c.version != e.g.version || c.edits != len(e.log) {
		e.Failf("the channels were read from another state of the graph")
		return
	}
	gone := make([]bool, c.a.total)
	for _, a := range atoms {
		if a.group.c != c {
			e.Failf("the atoms come from different analyses")
			return
		}
		for _, s := range a.slots {
			gone[s] = true
		}
	}
	e.carve(c, gone)
}

// carve removes the marked elements.
func (e *Edit) carve(c *Channels, gone []bool) {
	keep := map[axisID][]int{}
	for id, x := range c.a.axes {
		var list []int
		for i := range int(x.size) {
			if !gone[int(x.first)+i] {
				list = append(list, i)
			}
		}
		if len(list) == int(x.size) {
			continue
		}
		if len(list) == 0 {
			e.fail(&Error{Node: x.value.name, Err: fmt.Errorf("nothing would be left of axis %d", x.axis)})
			return
		}
		keep[axisID(id)] = list
	}
	before, whole := e.cost()
	for id, x := range c.a.axes { // in order, so that the journal is the same each time
		k, cut := keep[axisID(id)]
		switch v := x.value; {
		case !cut:
		case v.param != nil:
			e.cutParam(v.param, x.axis, k)
		case c.a.leaf[v]:
			e.cutConstant(v, x.axis, k)
		}
	}
	f := &follower{e: e, c: c, keep: keep}
	f.run()
	if e.err != nil {
		return
	}
	after, still := e.cost()
	if !whole || !still {
		before.MACs, after.MACs = c.allMACs(nil), c.allMACs(keep)
	}
	e.saved = append(e.saved, [2]Cost{before, after})
}

// allMACs counts multiply-adds at the sizes of the analysis, for models that do not take open
// dimensions at 1.
func (c *Channels) allMACs(keep map[axisID][]int) int64 {
	gone := map[axisID]int{}
	for id, k := range keep {
		gone[id] = int(c.a.axes[id].size) - len(k)
	}
	total := int64(0)
	for n := range c.a.calls {
		total += c.macs(n, gone)
	}
	return total
}

// cost counts parameters and multiply-adds, those with open dimensions at size 1; false when some
// node does not take that size.
func (e *Edit) cost() (Cost, bool) {
	var c Cost
	whole := true
	costs := e.g.costs()
	for _, n := range e.g.nodes {
		m, ok := costs[n]
		c.MACs += m
		whole = whole && (ok || n.op == nil || n.op.Cost == nil)
	}
	for _, p := range e.g.params() {
		if p.Role() != Constant {
			c.Params += p.Size()
		}
	}
	return c, whole
}

// cutParam keeps some indices of an axis; −1 among them is a new index, zero until it is set.
func (e *Edit) cutParam(p *Param, axis int, keep []int) {
	old, typ := p.Data, p.value.typ
	if old == nil {
		e.Failf("%q holds no numbers", p.Name())
		return
	}
	n := old.Shape()[axis]
	d := pick(old, axis, keep)
	e.cuts = append(e.cuts, Cut{Initializer: p.Name(), Axis: axis, Removed: missing(keep, n), Node: p.value.reader(), Before: n, After: len(keep)})
	e.act(action{
		do:     func() { p.Data, p.value.typ = d, op.TypeOf(d) },
		undo:   func() { p.Data, p.value.typ = old, typ },
		change: Change{Kind: ParamCut, Param: p, Name: p.Name(), Axis: axis, Keep: keep, Size: n},
		text:   fmt.Sprintf("%s: axis %d of %s %d → %d", p.value.reader(), axis, p.Name(), n, len(keep)),
	})
}

func (e *Edit) cutConstant(v *Value, axis int, keep []int) {
	d, ok := v.known.Value.(*tensor.Dense)
	if !ok {
		e.Failf("constant %q holds no numbers", v.name)
		return
	}
	n := d.Shape()[axis]
	e.cuts = append(e.cuts, Cut{Initializer: v.name, Axis: axis, Removed: missing(keep, n), Node: v.reader(), Before: n, After: len(keep)})
	d = pick(d, axis, keep)
	e.setConfig(v.producer, op.ConstantConfig{Value: d})
	old := v.known.Value
	e.act(action{do: func() { v.known.Value = d }, undo: func() { v.known.Value = old }})
}

// reader is the label of the first node that reads the value.
func (v *Value) reader() string {
	if u := v.Users(); len(u) > 0 {
		return u[0].Label()
	}
	return v.name
}

func missing(keep []int, n int) []int {
	stays := make([]bool, n)
	for _, i := range keep {
		if i >= 0 {
			stays[i] = true
		}
	}
	list := []int{}
	for i, s := range stays {
		if !s {
			list = append(list, i)
		}
	}
	return list
}

// pick gathers indices of an axis; −1 gives zeros.
func pick(d *tensor.Dense, axis int, keep []int) *tensor.Dense {
	shape := slices.Clone([]int(d.Shape()))
	outer, inner := 1, int(d.Dtype().Size())
	for i, n := range shape {
		switch {
		case i < axis:
			outer *= n
		case i > axis:
			inner *= n
		}
	}
	n := shape[axis]
	shape[axis] = len(keep)
	out := dtype.New(dtype.Of(d.Dtype()), shape...)
	src, dst := dtype.Bytes(d), dtype.Bytes(out)
	for o := range outer {
		for i, k := range keep {
			if k >= 0 {
				copy(dst[(o*len(keep)+i)*inner:][:inner], src[(o*n+k)*inner:][:inner])
			}
		}
	}
	return out
}

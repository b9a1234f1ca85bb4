package nn

import (
	"fmt"
	"math"
	"slices"

	"github.com/graft-ml/graft/internal/budget"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/std"
	"gorgonia.org/tensor"
)

// Cut lists the indices that a plan removes from one axis of an initializer.
type Cut struct {
	Initializer string `json:"initializer"` // name of the parameter
	Axis        int    `json:"axis"`        // of the parameter
	Removed     []int  `json:"removed"`     // ascending, numbered as before the cut
	Node        string `json:"node"`        // the first node that reads it
	Before      int    `json:"before"`      // length of the axis
	After       int    `json:"after"`       // its length afterwards

	keep  []int // for each index afterwards, the index before; -1: new
	round int   // number of the channel change of the edit that it belongs to
	grow  *growth
	added *Added
}

// Cost is the size of a model and the work that it does.
type Cost struct {
	Params int   `json:"parameters"` // elements of all weights and statistics
	MACs   int64 `json:"macs"`       // multiply-adds, with symbolic dimensions at 1 if the model accepts that, otherwise at sizes chosen by the analysis
}

// RemoveAtoms removes atoms from the model: their slices of every parameter. Numbers in the model that
// depend on the changed lengths are adapted. The atoms must come from Channels for the current graph.
func (e *Edit) RemoveAtoms(atoms ...*Atom) {
	if e.err != nil || len(atoms) == 0 {
		return
	}
	c := atoms[0].group.c
	if c.g != e.g || c.version != e.g.version || c.change != e.last() {
		e.Failf("the graph was edited after Channels was called: call it again")
		return
	}
	gone := make([]bool, c.a.system.Elements())
	for _, a := range atoms {
		if a.group.c != c {
			e.Failf("the atoms come from different calls of Channels")
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
		own := gone[x.first : x.first+x.size]
		if !slices.Contains(own, true) {
			continue
		}
		list := make([]int, 0, x.size)
		for i, g := range own {
			if !g {
				list = append(list, i)
			}
		}
		if len(list) == 0 {
			e.fail(&Error{Node: x.value.name, Err: fmt.Errorf("nothing would be left of axis %d", x.axis)})
			return
		}
		keep[axisID(id)] = list
	}
	e.round++
	w := e.onScales(c)
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
	e.saved = append(e.saved, w.compare(keep))
}

// cutParam keeps the given indices of an axis.
func (e *Edit) cutParam(p *Param, axis int, keep []int) {
	e.reindex(p, axis, keep, Change{}, Cut{})
}

// reindex keeps the given indices of an axis; −1 stands for a new index, which is zero until it is
// set. The tensor is computed when the change is applied, so that a plan holds no copy of the model,
// and training between planning and applying is not lost. Undoing restores the old tensor.
func (e *Edit) reindex(p *Param, axis int, keep []int, change Change, cut Cut) {
	if p.data == nil {
		e.Failf("parameter %q has no numeric data", p.id())
		return
	}
	e.note(cut, p.id(), axis, keep, p.data.Shape()[axis], p.value.reader())
	e.pickParam(p, axis, keep, change)
}

// pickParam is reindex without a record in the plan.
func (e *Edit) pickParam(p *Param, axis int, keep []int, change Change) {
	old, typ := p.data, p.value.typ
	n := old.Shape()[axis]
	var d *tensor.Dense
	change.Kind, change.Param, change.Name, change.Axis, change.Keep, change.Size = ParamCut, p, p.id(), axis, keep, n
	e.act(action{
		make: func() (err error) {
			if d, err = picked(p.data, axis, keep); err != nil {
				err = fmt.Errorf("parameter %q: %w", p.id(), err)
			}
			return err
		},
		do: func() {
			old, typ = p.data, p.value.typ
			p.data, d = d, nil // a plan that is not applied holds none
			p.value.typ = op.TypeOf(p.data)
			p.Changed()
		},
		undo:   func() { p.data, p.value.typ = old, typ; p.Changed() },
		change: &change,
		text:   fmt.Sprintf("%s: axis %d of %s %d → %d", p.value.reader(), axis, p.id(), n, len(keep)),
	})
}

// picked is dtype.Pick, charged to the memory budget before.
func picked(d *tensor.Dense, axis int, keep []int) (*tensor.Dense, error) {
	n := d.Shape()[axis]
	size := float64(len(dtype.Bytes(d))) / float64(max(n, 1)) * float64(len(keep))
	c, err := budget.Made(int64(min(size, math.MaxInt64/2)), func() *tensor.Dense { return dtype.Pick(d, axis, keep) })
	if err != nil {
		err = fmt.Errorf("%d instead of %d indices on axis %d: %w", len(keep), n, axis, err)
	}
	return c, err
}

// note records in the plan what an initializer loses or gains.
func (e *Edit) note(c Cut, name string, axis int, keep []int, size int, reader string) {
	c.Initializer, c.Axis, c.Removed, c.Node, c.Before, c.After = name, axis, missing(keep, size), reader, size, len(keep)
	c.keep, c.round = keep, e.round
	e.cuts = append(e.cuts, c)
}

// cutConstant keeps the given indices of an axis of a Constant; an index may be repeated.
func (e *Edit) cutConstant(v *Value, axis int, keep []int) {
	d, ok := v.known.Value.(*tensor.Dense)
	if !ok {
		e.Failf("constant %q has no numeric data", v.name)
		return
	}
	c, err := picked(d, axis, keep)
	if err != nil {
		e.Failf("constant %q: %w", v.name, err)
		return
	}
	e.setConstant(v, axis, keep, c)
}

// setConstant gives a Constant a tensor that consists of the indices keep of the old one along an axis.
func (e *Edit) setConstant(v *Value, axis int, keep []int, d *tensor.Dense) {
	old := v.known.Value
	e.note(Cut{}, v.name, axis, keep, old.(*tensor.Dense).Shape()[axis], v.reader())
	e.setConfig(v.producer, std.ConstantConfig{Value: d})
	e.act(action{do: func() { v.known.Value = d }, undo: func() { v.known.Value = old }})
}

// reader returns the label of the first node that reads the value.
func (v *Value) reader() string {
	if len(v.users) == 0 {
		return v.name
	}
	v.graph.nodes()
	return slices.MinFunc(v.users, func(a, b *Node) int { return a.at - b.at }).label()
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

package nn

import (
	"errors"
	"fmt"
	"sort"
)

// ResizeOptions are the settings of Edit.Resize. The zero value requires the exact length, removes the channels with the
// smallest weights, and adds channels that do not change what the model computes.
type ResizeOptions struct {
	// Axis is the axis of the value, negative from the last; 0: the channels, which are axis 1 or, if that cannot change,
	// the last axis.
	Axis int
	// Near allows the nearest possible length if the exact one is impossible.
	Near bool
	// Utility returns the importance of an atom; atoms below zero are removed even if fewer would suffice. nil: the norm of its
	// weights.
	Utility func(*Atom) float64
	// Copy makes new channels copies of old ones and divides the weights that read them; otherwise new channels have random
	// weights, and the weights that read them are zero.
	Copy bool
	// NormalizedAxes allows axes that a normalization, a softmax or a mean runs over.
	NormalizedAxes bool
}

// Request asks Edit.ResizeAll for a number of channels of a value.
type Request struct {
	Value    *Value // the value whose channels change
	Channels int    // the number it should have
	ResizeOptions
}

// Resize changes the number of channels of a value, and of everything that must change with it.
func (e *Edit) Resize(v *Value, channels int, o ResizeOptions) {
	e.ResizeAll(Request{v, channels, o})
}

// SetChannels changes the number of channels of the output of n.
func (e *Edit) SetChannels(n *Node, channels int) { e.change(n, func(int) int { return channels }) }

// AddChannels adds count channels to the output of n without changing what the model computes.
func (e *Edit) AddChannels(n *Node, count int) {
	e.change(n, func(have int) int { return have + count })
}

// RemoveChannels removes the count least important channels of the output of n.
func (e *Edit) RemoveChannels(n *Node, count int) {
	e.change(n, func(have int) int { return have - count })
}

// change resizes the output of a node to a number of channels made of the old one.
func (e *Edit) change(n *Node, to func(have int) int) {
	if x, ok := e.channelAxisOf(n); ok {
		e.Resize(x.value, to(int(x.size)), ResizeOptions{Axis: x.axis})
	}
}

// channelAxisOf returns the channel axis of a node's output; without one the edit fails.
func (e *Edit) channelAxisOf(n *Node) (axis chanAxis, ok bool) {
	if !e.has(n) {
		return axis, false
	}
	c := e.Channels()
	if e.err != nil {
		return axis, false
	}
	id, err := c.channelAxis(n.output(0), 0)
	if err != nil {
		e.fail(err)
		return axis, false
	}
	return c.a.axes[id], true
}

// channelAxis returns the axis of a request.
func (c *Channels) channelAxis(v *Value, axis int) (axisID, error) {
	rank, ok := c.a.rank[v]
	if !ok || rank < 2 && axis == 0 {
		return 0, &Error{Stage: "resize", Node: v.id(), Err: errors.New("has no channel axis")}
	}
	switch {
	case axis < 0:
		axis += rank
	case axis == 0:
		axis = 1
		if rank > 2 && c.Fixed(v, 1) != nil && c.Fixed(v, rank-1) == nil {
			axis = rank - 1
		}
	}
	id, ok := c.a.of(v, axis)
	if !ok {
		return 0, &Error{Stage: "resize", Node: v.id(), Err: fmt.Errorf("has no axis %d", axis)}
	}
	return id, nil
}

// ResizeAll resizes several values at once, those with Near set last. A request does not change what an exact one before
// it decided.
func (e *Edit) ResizeAll(list ...Request) {
	c := e.Channels()
	if e.err != nil {
		return
	}
	var ds []demand
	for _, r := range list {
		if !e.mine(r.Value) {
			return
		}
		id, err := c.channelAxis(r.Value, r.Axis)
		if err != nil {
			e.fail(err)
			return
		}
		d := demand{r, id, int(c.a.axes[id].size)}
		if d.Channels < 1 {
			e.fail(&Error{Stage: "resize", Node: r.Value.label(), Err: fmt.Errorf("cannot keep %d of %d channels: at least one must stay", d.Channels, d.size)})
			return
		}
		ds = append(ds, d)
	}
	sort.SliceStable(ds, func(i, j int) bool { return !ds[i].Near && ds[j].Near })
	s := &solver{c: c, decided: map[*Group]int{}, gone: map[*Atom]bool{}, added: map[*Group]int{}}
	copying := false
	for _, d := range ds {
		if err := s.solve(d); err != nil {
			e.fail(err)
			return
		}
		copying = copying || d.Copy
	}
	if len(s.gone) > 0 {
		var atoms []*Atom
		for _, g := range c.groups {
			for _, a := range g.Atoms {
				if s.gone[a] {
					atoms = append(atoms, a)
				}
			}
		}
		e.RemoveAtoms(atoms...)
	}
	e.widen(c, s, copying)
}

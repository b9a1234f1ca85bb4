package nn

import (
	"fmt"
	"slices"

	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/std"
)

// joiner reports whether a node joins computed values.
func (n *Node) joiner() bool {
	if !n.traits().Joins || len(n.in) < 2 {
		return false
	}
	for _, v := range n.in {
		if v == nil || fixed(v) {
			return false
		}
	}
	return true
}

// joinAxis returns the axis along which a node concatenates its inputs.
func (n *Node) joinAxis() (axis int, ok bool) {
	if n.traits().Concat == nil {
		return 0, false
	}
	axis, err := n.op.Traits.Concat(n.call())
	return axis, err == nil
}

// AddEdge makes a node read one more value: a Concat gets one more input, a sum or product one more term; for other nodes
// the value is added to the first one that they read (or, with Concat, concatenated to it). One axis is realigned; the
// others must have equal lengths, or length 1 in the new value. It returns the sum or concatenation.
func (o Realign) AddEdge(e *Edit, from *Value, to *Node) *Value {
	if !e.mine(from) || !e.has(to) {
		return nil
	}
	e.place = append(e.place, "AddEdge")
	defer func() { e.place = e.place[:len(e.place)-1] }()
	var y *Value
	e.weighed(func() {
		axis, joined := to.joinAxis()
		switch {
		case joined:
			y = o.addPart(e, from, to, axis)
		case to.joiner():
			y = o.addTerm(e, from, to)
		default:
			y = o.addBefore(e, from, to)
		}
	})
	if e.err != nil {
		return nil
	}
	e.Note("edge from %s to %s", from.label(), to.label())
	return y
}

// addPart gives a Concat one more input. Its readers get zero columns for it.
func (o Realign) addPart(e *Edit, from *Value, to *Node, axis int) *Value {
	y := to.out[0]
	from = o.via(e, from, nil, axis)
	if e.err != nil {
		return nil
	}
	if y.typ.Unranked || !y.typ.Shape[axis].Known() {
		e.refuse(to, fmt.Errorf("the length of axis %d is not known", axis))
		return nil
	}
	g := e.openEdge(y, y, axis, slices.Clone(y.users), slices.Contains(e.g.outputs, y))
	if e.err != nil {
		return nil
	}
	e.setIn(to, append(slices.Clone(to.in), from))
	e.fit(g, o.orAfter(), nil)
	return y
}

// addTerm gives a sum or product one more term.
func (o Realign) addTerm(e *Edit, from *Value, to *Node) *Value {
	y := to.out[0]
	users, output := slices.Clone(y.users), slices.Contains(e.g.outputs, y)
	return o.joinTerm(e, from, y, func(t *Value) *Value {
		if in := to.op.In.List(); in[len(in)-1].Variadic {
			e.setIn(to, append(slices.Clone(to.in), t))
			return y
		}
		n := e.Node(to.config, y, t)
		if e.err != nil {
			return nil
		}
		s := n.out[0]
		e.rewire(y, s, users)
		if output {
			e.swapOutput(y, s)
		}
		return s
	})
}

// addBefore joins the value with the first input of a node, for this node only.
func (o Realign) addBefore(e *Edit, from *Value, to *Node) *Value {
	i := slices.IndexFunc(to.in, func(v *Value) bool { return v != nil && !fixed(v) })
	if i < 0 {
		e.refuse(to, fmt.Errorf("reads nothing that is computed"))
		return nil
	}
	x := to.in[i]
	if !o.Concat {
		return o.joinTerm(e, from, x, func(t *Value) *Value {
			s := e.one("", op.Plain("Add"), x, t)
			if e.err == nil {
				e.setRead(to, i, s)
			}
			return s
		})
	}
	axis := e.channelsOf(x)
	from = o.via(e, from, nil, axis)
	if e.err != nil {
		return nil
	}
	y := e.one("", std.ConcatConfig{Axis: axis}, x, from)
	if e.err != nil {
		return nil
	}
	g := e.openEdge(y, x, axis, []*Node{to}, false)
	e.fit(g, o.orAfter(), nil)
	return y
}

// channelsOf returns the axis of a value that holds its channels.
func (e *Edit) channelsOf(v *Value) int {
	c := e.Channels()
	if e.err != nil {
		return 0
	}
	id, err := c.channelAxis(v, 0)
	if err != nil {
		e.fail(err)
		return 0
	}
	return c.a.axes[id].axis
}

// joinTerm makes from fit to x, and joins the two.
func (o Realign) joinTerm(e *Edit, from, x *Value, join func(t *Value) *Value) *Value {
	if o.Via != nil {
		from = o.via(e, from, x, e.channelsOf(x))
		if e.err != nil {
			return nil
		}
	}
	axis, err := stretchedMisfit(from, x)
	if err != nil {
		e.fail(&Error{Err: fmt.Errorf("the value does not fit: %w", err)})
		return nil
	}
	if axis < 0 {
		return join(from)
	}
	g := e.openEdge(from, x, axis, nil, false)
	if e.err != nil {
		return nil
	}
	s := join(g.far())
	e.fit(g, o, nil)
	return s
}

// stretchedMisfit is misfit for a value that is broadcast to another: axes of length 1 fit.
func stretchedMisfit(v, to *Value) (int, error) {
	t := Value{name: v.name, typ: v.typ}
	if len(t.typ.Shape) == len(to.typ.Shape) {
		t.typ.Shape = slices.Clone(t.typ.Shape)
		for i, d := range t.typ.Shape {
			if d == op.D(1) {
				t.typ.Shape[i] = to.typ.Shape[i]
			}
		}
	}
	return misfit(&t, to)
}

// via applies the requested layer on an edge, initialized to return zeros, with as many channels as like.
func (o Realign) via(e *Edit, from, like *Value, axis int) *Value {
	if o.Via == nil || e.err != nil {
		return from
	}
	l := placed(o.Via, from)
	size := 0
	if like != nil && len(like.typ.Shape) > axis {
		size = max(like.typ.Shape[axis].Size, 0)
	}
	if p, ok := l.(Projection); ok {
		l = p.Fit(size)
	}
	if like != nil {
		l = Silence(l)
	}
	return e.Apply(l, from)
}

// RemoveEdge makes a node no longer read a value; if it reads the value several times, only the last is removed. A Concat
// loses an input, and the layers that read it lose the columns for it; a sum or product loses a term. Nodes that were
// needed only for this edge are removed. It fails if the node reads nothing else.
func (o Realign) RemoveEdge(e *Edit, from *Value, to *Node) {
	if !e.mine(from) || !e.has(to) {
		return
	}
	e.place = append(e.place, "RemoveEdge")
	defer func() { e.place = e.place[:len(e.place)-1] }()
	at := -1
	for i, v := range to.in {
		if v == from {
			at = i
		}
	}
	axis, joined := to.joinAxis()
	switch {
	case at < 0:
		e.refuse(to, fmt.Errorf("does not read %q", from.name))
		return
	case len(to.in) < 2 || !joined && !to.joiner():
		e.refuse(to, fmt.Errorf("cannot lose %q: it %w", from.name, errOnly))
		return
	}
	rest := slices.Delete(slices.Clone(to.in), at, at+1)
	e.weighed(func() {
		if joined {
			e.removePart(o, to, axis, at, rest)
			return
		}
		if len(rest) > 1 {
			e.setIn(to, rest)
			e.sweep(from)
			return
		}
		y := to.out[0]
		axis, err := misfit(rest[0], y)
		if err != nil {
			e.refuse(to, fmt.Errorf("cannot lose %q: %w", from.name, err))
			return
		}
		if axis < 0 {
			e.bypass(y, rest[0])
			e.drop(to)
			return
		}
		g := e.openEdge(rest[0], y, axis, slices.Clone(y.users), slices.Contains(e.g.outputs, y))
		e.drop(to)
		e.fit(g, o, nil)
	})
	e.Note("no edge from %s to %s", from.label(), to.label())
}

// removePart removes input at of a Concat.
func (e *Edit) removePart(o Realign, to *Node, axis, at int, rest []*Value) {
	if e.err != nil {
		return
	}
	y, from := to.out[0], to.in[at]
	lo := 0
	for i, v := range to.in {
		if v.typ.Unranked || !v.typ.Shape[axis].Known() {
			e.refuse(to, fmt.Errorf("the length of axis %d is not known", axis))
			return
		}
		if i < at {
			lo += v.typ.Shape[axis].Size
		}
	}
	gone := segment(y.typ.Shape[axis].Size, lo, lo+from.typ.Shape[axis].Size)
	users, output := slices.Clone(y.users), slices.Contains(e.g.outputs, y)
	src := y
	if len(rest) == 1 {
		src = rest[0]
	}
	g := e.openEdge(src, y, axis, users, output)
	if e.err != nil {
		return
	}
	if len(rest) == 1 {
		e.drop(to)
	} else {
		e.setIn(to, rest)
		e.sweep(from)
	}
	e.fit(g, o.orAfter(), gone)
}

package nn

import (
	"errors"
	"fmt"
	"slices"
)

// Realign says how layers of different sizes are made to fit when the structure of a graph
// changes. Its methods are the verbs of Edit with other settings than the defaults:
//
//	nn.Realign{Prefer: nn.PreferBefore}.Remove(e, n)
//
// What is new starts so that the model computes as much as possible of what it did: new columns
// that read channels are zero, new channels come last. What goes is what matters least.
type Realign struct {
	// Prefer says which side follows. Where that is impossible the other one does.
	Prefer Prefer
	// Utility says how much an atom matters; nil: the size of its weights.
	Utility func(*Atom) float64
	// NormalizedAxes allows axes that a normalization, a softmax or a mean runs over.
	NormalizedAxes bool
	// Concat makes AddEdge join by concatenation rather than by a sum, towards a node that reads
	// one value.
	Concat bool
	// Via is applied to the new edge of AddEdge, a Conv or Linear say; with Out 0 it has the size that
	// fits. It starts at zero, so that a sum is what it was.
	Via Layer
}

// Prefer says which sizes change where layers do not fit.
type Prefer int

// The preferences. PreferEither is PreferGrow, except that a layer that is put in keeps its size: the layers
// that read it follow.
const (
	PreferEither Prefer = iota
	PreferGrow          // the smaller side grows
	PreferShrink        // the larger side shrinks
	PreferBefore        // what computes the value follows
	PreferAfter         // what reads the value follows
)

// orAfter prefers what comes after where the options leave it open.
func (o Realign) orAfter() Realign {
	if o.Prefer == PreferEither {
		o.Prefer = PreferAfter
	}
	return o
}

// misfit is the axis on which two values have different lengths: −1 when they agree. More than
// one, or lengths that are not numbers, cannot be realigned.
func misfit(in, out *Value) (int, error) {
	err := sameShape(in, out)
	if err == nil {
		return -1, nil
	}
	a, b := in.typ, out.typ
	if a.DType != b.DType || a.Unranked || b.Unranked || len(a.Shape) != len(b.Shape) {
		return 0, err
	}
	axis := -1
	for i, d := range a.Shape {
		o := b.Shape[i]
		switch {
		case !d.Differ(o):
		case axis >= 0 || !d.Known() || !o.Known() || d.Symbolic() || o.Symbolic():
			return 0, err
		default:
			axis = i
		}
	}
	return axis, nil
}

// Remove takes a node out and connects its users to its first data input. Where the two have
// different lengths on one axis the layers around are resized. Parameters that only the node read
// go with it.
func (o Realign) Remove(e *Edit, n *Node) {
	if !e.has(n) {
		return
	}
	if n.unread() {
		e.drop(n)
		return
	}
	var in *Value
	for _, v := range n.in {
		if v != nil && v.param == nil {
			in = v
			break
		}
	}
	if in == nil {
		e.Failf("node %s has no input to connect its users to", n.Label())
		return
	}
	for i, v := range n.out {
		if v != nil && i > 0 && (len(v.users) > 0 || slices.Contains(e.g.outputs, v)) {
			e.Failf("node %s has a second output, %q, that is read", n.Label(), v.name)
			return
		}
	}
	axis, err := misfit(in, n.out[0])
	if err != nil {
		e.fail(&Error{Op: n.opType, Node: n.Label(), Err: fmt.Errorf("cannot be removed: %w", err)})
		return
	}
	if axis < 0 {
		e.bypass(n.out[0], in)
		e.drop(n)
		return
	}
	var gone []bool
	if along, ok := n.joinAxis(); ok && along == axis { // readers keep what is for the first input
		gone = segment(n.out[0].typ.Shape[axis].Size, in.typ.Shape[axis].Size, -1)
	}
	e.weighed(func() {
		g := e.openEdge(in, n.out[0], axis, slices.Clone(n.out[0].users), slices.Contains(e.g.outputs, n.out[0]))
		e.drop(n)
		e.fit(g, o, gone)
	})
}

// segment marks indices from lo to hi of n; hi −1 is the end.
func segment(n, lo, hi int) []bool {
	if hi < 0 {
		hi = n
	}
	s := make([]bool, n)
	for i := lo; i < hi; i++ {
		s[i] = true
	}
	return s
}

// fit makes the sides of a gap agree and closes it. The marked indices after it are those that
// have nothing to read any more: they go first, if they can.
func (e *Edit) fit(g gap, o Realign, gone []bool) {
	if e.err != nil {
		return
	}
	if gone == nil || !e.cutBehind(g, gone) {
		e.balance(g, o)
	}
	e.closeEdge(g)
}

// Insert puts a layer after value at, towards all its users and the graph's output, or towards
// the given users only. The layer starts as the identity where it can. Where it has another size
// than what it stands behind, on one axis, the layers that read it are resized.
func (o Realign) Insert(e *Edit, at *Value, l Layer, users ...*Node) *Value {
	if !e.mine(at) {
		return nil
	}
	for _, u := range users {
		if e.has(u) && !slices.Contains(u.reads(), at) {
			e.Failf("node %s does not read %q", u.Label(), at.name)
		}
	}
	all, output := users, false
	if len(users) == 0 {
		all, output = slices.Clone(at.users), slices.Contains(e.g.outputs, at)
	}
	start := e.save()
	v := e.Apply(Identity(placed(l, at)), at)
	if e.err != nil || v == at {
		return v
	}
	plain := func() {
		e.rewire(at, v, all)
		if output {
			e.swapOutput(at, v)
		}
	}
	axis, err := misfit(v, at)
	if err != nil || axis < 0 || len(all) == 0 || !e.whole() {
		plain() // what does not fit shows at the end of the edit, which may bring more
		return v
	}
	if e.Try(plain) == nil {
		return v
	}
	before := e.costBefore(start.log)
	e.fit(e.openEdge(v, at, axis, all, output), o.orAfter(), nil)
	if e.err != nil {
		return nil
	}
	e.weigh(start, before)
	return v
}

// Replace puts a layer in the place of a node: it is applied to the node's data inputs, and its
// outputs take over from the node's. Where the first has another length on one axis, the layers
// that read it are resized. It returns that output.
func (o Realign) Replace(e *Edit, n *Node, l Layer) *Value {
	if !e.has(n) {
		return nil
	}
	var in []*Value
	for _, v := range n.in {
		if v != nil && v.param == nil {
			in = append(in, v)
		}
	}
	start := e.save()
	out := e.ApplyAll(l, in...)
	if e.err != nil {
		return nil
	}
	var open *gap
	var before Cost
	for i, v := range n.out {
		if v == nil || len(v.users) == 0 && !slices.Contains(e.g.outputs, v) {
			continue
		}
		if i >= len(out) || out[i] == nil {
			e.Failf("node %s has an output %q that is read, the layer in its place has none", n.Label(), v.name)
			return nil
		}
		if err := sameType(v, out[i]); err != nil {
			e.fail(&Error{Op: n.opType, Node: n.Label(), Err: fmt.Errorf("cannot be replaced: %w", err)})
			return nil
		}
		if axis, err := misfit(out[i], v); err == nil && axis >= 0 && i == 0 && e.whole() && e.Try(func() { e.bypass(v, out[i]) }) != nil {
			before = e.costBefore(start.log)
			g := e.openEdge(out[i], v, axis, slices.Clone(v.users), slices.Contains(e.g.outputs, v))
			open = &g
			continue
		}
		e.bypass(v, out[i])
	}
	e.drop(n)
	if open != nil {
		e.fit(*open, o.orAfter(), nil)
		e.weigh(start, before)
	}
	if e.err != nil {
		return nil
	}
	return out[0]
}

// whole reports whether the graph holds as it is: an edit may be half done.
func (e *Edit) whole() bool { return e.Try(func() {}) == nil }

// errOnly says that a node cannot lose what it reads.
var errOnly = errors.New("reads nothing else: remove the node instead")

// Insert is Realign.Insert with the default settings.
func (e *Edit) Insert(at *Value, l Layer, users ...*Node) *Value {
	return Realign{}.Insert(e, at, l, users...)
}

// Remove is Realign.Remove with the default settings.
func (e *Edit) Remove(n *Node) { Realign{}.Remove(e, n) }

// Replace is Realign.Replace with the default settings.
func (e *Edit) Replace(n *Node, l Layer) *Value { return Realign{}.Replace(e, n, l) }

// AddEdge is Realign.AddEdge with the default settings.
func (e *Edit) AddEdge(from *Value, to *Node) *Value { return Realign{}.AddEdge(e, from, to) }

// RemoveEdge is Realign.RemoveEdge with the default settings.
func (e *Edit) RemoveEdge(from *Value, to *Node) { Realign{}.RemoveEdge(e, from, to) }

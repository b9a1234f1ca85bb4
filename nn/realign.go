package nn

import (
	"errors"
	"fmt"
	"slices"
)

// Realign holds the settings for resizing layers to fit when the structure of a graph changes. Its methods are those of Edit, with
// settings other than the defaults:
//
//	nn.Realign{Prefer: nn.PreferBefore}.Remove(e, n)
//
// New weights are initialized so that the model computes as much as possible of what it did: new columns that read
// channels are zero, and new channels come last. The least important channels are removed.
type Realign struct {
	// Prefer selects which side is resized. If that is impossible, the other one is.
	Prefer Prefer
	// Utility returns the importance of an atom; nil: the norm of its weights.
	Utility func(*Atom) float64
	// NormalizedAxes allows axes that a normalization, a softmax or a mean runs over.
	NormalizedAxes bool
	// Concat makes AddEdge concatenate rather than add, if the node reads a single value.
	Concat bool
	// Via is applied to the value that AddEdge adds: a Conv or Linear, for example, whose size is chosen to fit if Out is 0.
	// It is initialized to zero, so that a sum does not change.
	Via Layer
}

// Prefer selects which layers are resized if sizes do not fit.
type Prefer int

// The preferences. PreferEither is PreferGrow, except that an inserted layer keeps its size and the layers that read it
// are resized.
const (
	PreferEither Prefer = iota
	PreferGrow          // the smaller side grows
	PreferShrink        // the larger side shrinks
	PreferBefore        // layers that compute the value are resized
	PreferAfter         // layers that read the value are resized
)

// orAfter prefers the layers after the value if the options do not choose.
func (o Realign) orAfter() Realign {
	if o.Prefer == PreferEither {
		o.Prefer = PreferAfter
	}
	return o
}

// misfit returns the axis on which two values have different lengths, −1 if they agree. More than one such axis, or unknown
// lengths, cannot be realigned.
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

// Remove removes a node and makes its users read its first data input. If one axis has different lengths in the two, the
// layers around are resized. Parameters that only the node reads are removed too.
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
		e.Failf("node %s has no input to connect its users to", n.label())
		return
	}
	for i, v := range n.out {
		if v != nil && i > 0 && (len(v.users) > 0 || slices.Contains(e.g.outputs, v)) {
			e.Failf("node %s has a second output, %q, that is read", n.label(), v.name)
			return
		}
	}
	axis, err := misfit(in, n.out[0])
	if err != nil {
		e.fail(&Error{Op: n.opType, Node: n.label(), Err: fmt.Errorf("cannot be removed: %w", err)})
		return
	}
	if axis < 0 {
		e.bypass(n.out[0], in)
		e.drop(n)
		return
	}
	var gone []bool
	if along, ok := n.joinAxis(); ok && along == axis { // readers keep their weights for the first input
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

// fit makes the sides of a gap agree and closes it. The marked indices after it no longer have anything to read: they are
// removed first if possible.
func (e *Edit) fit(g splitEdge, o Realign, gone []bool) {
	if e.err != nil {
		return
	}
	if gone == nil || !e.cutAfter(g, gone) {
		e.balance(g, o)
	}
	e.closeEdge(g)
}

// Insert adds a layer after the value at, for all users of the value and the graph's output, or only for the given users.
// The layer is initialized as the identity if it can be. If one axis of its output has another length than in at, the
// layers that read it are resized.
func (o Realign) Insert(e *Edit, at *Value, l Layer, users ...*Node) *Value {
	if !e.mine(at) {
		return nil
	}
	for _, u := range users {
		if e.has(u) && !slices.Contains(u.reads(), at) {
			e.Failf("node %s does not read %q", u.label(), at.name)
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
		plain() // a misfit is reported at the end of the edit, which may still resolve it
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

// Replace replaces a node by a layer: the layer is applied to the node's data inputs, and its outputs take the place of
// the node's. If one axis of the first output has another length, the layers that read it are resized. Replace returns
// that output.
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
	var open *splitEdge
	var before Cost
	for i, v := range n.out {
		if v == nil || len(v.users) == 0 && !slices.Contains(e.g.outputs, v) {
			continue
		}
		if i >= len(out) || out[i] == nil {
			e.Failf("node %s has an output %q that is read, the layer in its place has none", n.label(), v.name)
			return nil
		}
		if err := sameType(v, out[i]); err != nil {
			e.fail(&Error{Op: n.opType, Node: n.label(), Err: fmt.Errorf("cannot be replaced: %w", err)})
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

// whole reports whether the graph is consistent: an edit may be half done.
func (e *Edit) whole() bool { return e.Try(func() {}) == nil }

// errOnly is the error for a node that cannot lose its only input.
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

package nn

import (
	"fmt"
	"slices"
)

// follower rewrites the numbers in a model that contain lengths: targets of Reshape, bounds of Slice, sizes of Split, groups,
// hidden sizes. It walks the graph after parameters were cut, and compares every shape with the expected one.
type follower struct {
	e    *Edit
	c    *Channels
	keep map[axisID][]int // old indices that remain, on axes that change; −1: a new one
	w    *walker
}

func (f *follower) run() {
	f.w = lowering{g: f.e.g, mode: walkInfer}.walker()
	for _, v := range f.e.g.inputs {
		f.w.env[v] = f.c.a.env[v]
	}
	for _, n := range slices.Clone(f.e.g.nodes()) {
		if f.e.err != nil {
			return
		}
		f.node(n)
	}
	f.e.sortNodes()
}

// sortNodes sorts the nodes topologically: an edit appends new ones at the end.
func (e *Edit) sortNodes() {
	e.made()
	if e.err != nil || e.sorted == e.acts {
		return
	}
	order, err := topological(e.g.nodes(), e.watched())
	if err != nil {
		e.fail(err)
		return
	}
	if g, old := e.g, e.g.nodes(); !slices.Equal(old, order) {
		e.act(action{do: func() { g.setNodes(order) }, undo: func() { g.setNodes(old) }})
	}
	e.sorted = e.acts
}

// kept returns the old indices of an axis that remain, nil for all.
func (f *follower) kept(v *Value, axis int) []int {
	if v == nil {
		return nil
	}
	id, ok := f.c.a.of(v, axis)
	if !ok {
		return nil
	}
	return f.keep[id]
}

// want returns the shape that a value must have, nil if unknown.
func (f *follower) want(v *Value) []int {
	first, ok := f.c.a.first[v]
	if !ok {
		return nil
	}
	s := make([]int, f.c.a.rank[v])
	for i := range s {
		id := first + axisID(i)
		s[i] = int(f.c.a.axes[id].size)
		if k, cut := f.keep[id]; cut {
			s[i] = len(k)
		}
	}
	return s
}

// old returns the shape that a value had before.
func (f *follower) old(v *Value) []int {
	first, ok := f.c.a.first[v]
	if !ok {
		return nil
	}
	s := make([]int, f.c.a.rank[v])
	for i := range s {
		s[i] = int(f.c.a.axes[first+axisID(i)].size)
	}
	return s
}

func (f *follower) touched(n *Node) bool {
	for _, v := range append(n.reads(), n.out...) {
		if v == nil {
			continue
		}
		for x := range f.c.a.rank[v] {
			if f.kept(v, x) != nil {
				return true
			}
		}
	}
	return false
}

func (f *follower) node(n *Node) {
	if f.c.a.calls[n] == nil {
		if n.op == nil || f.w.visit(n) != nil {
			f.w.bindDeclared(n)
		}
		return
	}
	if !f.touched(n) && f.same(n) {
		return
	}
	err := f.resize(n)
	if err == nil {
		err = f.visit(n)
	}
	if err != nil {
		f.e.fail(&Error{Op: n.opType, Node: n.label(), Err: fmt.Errorf("cannot follow: %w", err)})
	}
}

// same reports whether the node's inputs, and therefore its results, are those of the analysis.
func (f *follower) same(n *Node) bool {
	for _, v := range n.reads() {
		if v == nil {
			continue
		}
		was := f.c.a.env[v]
		if was == nil || f.w.env[v] != was && (v.param == nil || f.w.env[v] != nil) {
			return false
		}
	}
	for _, v := range n.out {
		if v != nil {
			f.w.env[v] = f.c.a.env[v]
		}
	}
	return true
}

// visit infers the node and compares its outputs.
func (f *follower) visit(n *Node) error {
	if err := f.w.visit(n); err != nil {
		return err
	}
	for _, v := range n.out {
		if v == nil {
			continue
		}
		b := f.w.env[v]
		if was := f.c.a.env[v]; b != nil && was != nil && alike(b, was) {
			f.w.env[v] = was
		}
		want := f.want(v)
		if want == nil || b == nil || !b.typ.Static() {
			continue
		}
		if got := b.typ.Sizes(); !slices.Equal(got, want) {
			return &Error{Input: v.name, Want: want, Got: got}
		}
	}
	return nil
}

// alike reports whether two walks know the same about a value.
func alike(a, b *binding) bool {
	x := inferred{&Value{typ: a.typ, known: a.known}, b.typ, b.known}
	return x.same()
}

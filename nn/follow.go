package nn

import (
	"fmt"
	"slices"
)

// follower rewrites the numbers in a model that spell out lengths: targets of Reshape, bounds of
// Slice, sizes of Split, groups, hidden sizes. It walks the graph after parameters were cut and
// compares every shape with what the cut must give.
type follower struct {
	e    *Edit
	c    *Channels
	keep map[axisID][]int // old indices that stay, on axes that change; −1: a new one
	w    *walker
}

func (f *follower) run() {
	f.w = newWalker(f.e.g, walkInfer)
	for v, t := range f.c.a.feeds {
		f.w.env[v] = &binding{typ: t}
	}
	for _, n := range slices.Clone(f.e.g.nodes) {
		if f.e.err != nil {
			return
		}
		f.node(n)
	}
	f.e.sortNodes()
}

// sortNodes brings the nodes into topological order: those that an edit adds come last.
func (e *Edit) sortNodes() {
	if e.err != nil {
		return
	}
	order, err := topological(e.g.nodes)
	if err != nil {
		e.fail(err)
		return
	}
	if g, old := e.g, e.g.nodes; !slices.Equal(old, order) {
		e.act(action{do: func() { g.nodes = order }, undo: func() { g.nodes = old }})
	}
}

// kept is what stays of an axis: nil for everything.
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

// want is the shape that a value must have; nil when its shape is not known.
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

// old is the shape that a value had.
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
	touched := f.touched(n)
	if touched {
		f.attributes(n)
	}
	err := f.visit(n)
	if err == nil {
		return
	}
	if f.rewrite(n); f.e.err == nil {
		if err = f.visit(n); err != nil {
			f.e.fail(&Error{Op: n.opType, Node: n.Label(), Err: fmt.Errorf("cannot follow: %w", err)})
		}
	}
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
		want := f.want(v)
		b := f.w.env[v]
		if want == nil || b == nil || !b.typ.Static() {
			continue
		}
		if got := b.typ.Sizes(); !slices.Equal(got, want) {
			return &Error{Input: v.name, Want: want, Got: got}
		}
	}
	return nil
}

package nn

import (
	"slices"

	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/trait"
)

// matching is an attempt to find a pattern that ends in a node.
type matching struct {
	w     *walker
	root  *Node
	nodes []*Node // nodes of the group found so far
	named map[string]*Value
	nums  map[string]float64
}

// try matches a rule; nil if it does not apply.
func (m *matching) try(r *op.Rewrite) *op.Replacement {
	m.named, m.nums = map[string]*Value{}, map[string]float64{}
	var f *op.Replacement
	m.value(r.Pattern, m.root.out[0], func() bool {
		if !m.closed() {
			return false
		}
		f = r.Build(m)
		return f != nil
	})
	return f
}

// closed reports whether no inner result is read outside of the group.
func (m *matching) closed() bool {
	for _, n := range m.nodes {
		if n == m.root {
			continue
		}
		for _, v := range n.out {
			if v == nil {
				continue
			}
			if m.w.fuser.keep[v] {
				return false
			}
			for _, u := range v.users {
				if m.w.fuser.live[u] && !slices.Contains(m.nodes, u) {
					return false
				}
			}
		}
	}
	return true
}

// value matches a term with a value and, on success, calls next. If either fails, what was recorded meanwhile
// is reverted.
func (m *matching) value(t op.Term, v *Value, next func() bool) bool {
	if v == nil || m.w.at(v) == nil {
		return false
	}
	if alts := t.Alternatives(); alts != nil {
		return slices.ContainsFunc(alts, func(a op.Term) bool { return m.value(a, v, next) })
	}
	name := t.Name()
	switch {
	case t.IsNumber():
		return m.number(t, v, next)
	case name == "":
		return m.node(t, v, next)
	}
	if old, seen := m.named[name]; seen {
		return old == v && m.node(t, v, next)
	}
	m.named[name] = v
	if m.node(t, v, next) {
		return true
	}
	delete(m.named, name)
	return false
}

// node matches the operator that computes v with that of a term. An operator that the graph's set replaces by
// another matches no rule.
func (m *matching) node(t op.Term, v *Value, next func() bool) bool {
	want, ok := t.Operator()
	if !ok {
		return next()
	}
	n := v.producer
	if !m.w.fuser.live[n] || n.op == nil || len(n.out) != 1 {
		return false
	}
	had, is := len(m.nodes), n.op.Operator()
	if !t.Shared() {
		m.nodes = append(m.nodes, n)
	}
	if is != want && n != m.root && n.isIdentity() && !m.w.g.ops.Replaced(is) {
		if m.node(t, n.in[0], next) {
			return true
		}
	}
	if in, enough := t.Inputs(len(n.in)); is == want && enough && !m.w.g.ops.Replaced(is) {
		if m.inputs(in, n.in, next) {
			return true
		}
		if n.op.Traits.Joins && len(in) == 2 && len(n.in) == 2 && m.inputs(in, []*Value{n.in[1], n.in[0]}, next) {
			return true
		}
	}
	m.nodes = m.nodes[:had]
	return false
}

// isIdentity reports whether the node's output is its input.
func (n *Node) isIdentity() bool {
	t := n.traits()
	return t.Moves == trait.MovedInOrder && t.Keeps != nil
}

func (m *matching) inputs(terms []op.Term, in []*Value, next func() bool) bool {
	if len(terms) == 0 {
		return next()
	}
	return m.value(terms[0], in[0], func() bool { return m.inputs(terms[1:], in[1:], next) })
}

// number matches a known value that is the same for all elements it is added to or multiplied with.
func (m *matching) number(t op.Term, v *Value, next func() bool) bool {
	s := m.source(v)
	x, ok := s.Number()
	if !ok || !t.Admits(x, s.Type.DType) {
		return false
	}
	name := t.Name()
	if name == "" {
		return next()
	}
	if old, seen := m.nums[name]; seen {
		return old == x && next()
	}
	m.nums[name] = x
	if next() {
		return true
	}
	delete(m.nums, name)
	return false
}

// source returns a value in the form that rules use.
func (m *matching) source(v *Value) op.Source {
	b := m.w.at(v)
	if b == nil {
		return op.Source{}
	}
	return op.Source{Type: b.typ, Known: b.known, Gradient: m.w.influenced[v], Ref: v}
}

// Value returns a named value of the match.
func (m *matching) Value(name string) op.Source {
	if v := m.named[name]; v != nil {
		return m.source(v)
	}
	return op.Source{}
}

// Number returns a named number of the match.
func (m *matching) Number(name string) (float64, bool) { x, ok := m.nums[name]; return x, ok }

// Call returns the use of the operator that computes a value.
func (m *matching) Call(s op.Source) *op.Call {
	v, ok := s.Ref.(*Value)
	if !ok || !m.w.fuser.live[v.producer] || v.producer.op == nil {
		return nil
	}
	c := m.w.call(v.producer, v.producer.reads())
	if c == nil || c.Resolve() != nil {
		return nil
	}
	return c
}

// Input returns an input of the node that computes a value.
func (m *matching) Input(s op.Source, i int) op.Source {
	v, ok := s.Ref.(*Value)
	if !ok || v.producer == nil || v.producer.input(i) == nil {
		return op.Source{}
	}
	return m.source(v.producer.input(i))
}

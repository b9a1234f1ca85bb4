package nn

import (
	"fmt"
	"slices"
)

// Check verifies the invariants of the graph and infers all types again. Graphs that Edit or a loader returned always
// pass; tests call it.
func (g *Graph) Check() error {
	if err := g.begin("check"); err != nil {
		return err
	}
	defer g.lock().Unlock()
	if err := g.check(nil); err != nil {
		return err
	}
	return g.infer()
}

func (g *Graph) check(w *watch) error {
	bad := func(format string, args ...any) error {
		return &Error{Stage: "check", Err: fmt.Errorf(format, args...)}
	}
	seen, users := map[*Node]bool{}, members[*Value, *Node]{}
	for _, n := range g.nodes() {
		if w.ended() {
			return w.err
		}
		if n.graph != g {
			return bad("node %s belongs to another graph", n.label())
		}
		if seen[n] {
			return bad("node %s is listed twice", n.label())
		}
		for i, v := range n.reads() {
			if v == nil {
				continue
			}
			if g.values[v.name] != v {
				return bad("input %d of node %s, %q, is not in the graph", i, n.label(), v.name)
			}
			if v.producer != nil && !seen[v.producer] {
				return bad("node %s reads %q before it is computed", n.label(), v.name)
			}
			if !users.has(v, v.users, n) {
				return bad("value %q does not know its user %s", v.name, n.label())
			}
		}
		for i, v := range n.out {
			if v == nil {
				continue
			}
			if g.values[v.name] != v || v.producer != n || v.index != i {
				return bad("output %d of node %s is not its own", i, n.label())
			}
		}
		seen[n] = true
	}
	reads, inputs := members[*Node, *Value]{}, members[*Graph, *Value]{}
	for name, v := range g.values {
		if w.ended() {
			return w.err
		}
		if v.input && !inputs.has(g, g.inputs, v) {
			return bad("value %q is an input the graph does not list", name)
		}
		if err := g.checkValue(name, v, seen, reads); err != nil {
			return err
		}
	}
	for _, v := range g.inputs {
		if g.values[v.name] != v || !v.input {
			return bad("input %q is not in the graph", v.name)
		}
	}
	for _, v := range g.outputs {
		if g.values[v.name] != v {
			return bad("output %q is not in the graph", v.name)
		}
	}
	return nil
}

// members caches long lists as sets, for repeated lookups.
type members[K, T comparable] map[K]map[T]bool

// has reports whether x is in the list of k.
func (m members[K, T]) has(k K, list []T, x T) bool {
	if len(list) < 32 {
		return slices.Contains(list, x)
	}
	set := m[k]
	if set == nil {
		set = make(map[T]bool, len(list))
		for _, y := range list {
			set[y] = true
		}
		m[k] = set
	}
	return set[x]
}

func (g *Graph) checkValue(name string, v *Value, nodes map[*Node]bool, reads members[*Node, *Value]) error {
	bad := func(format string, args ...any) error {
		return &Error{Stage: "check", Err: fmt.Errorf(format, args...)}
	}
	sources := 0
	if v.input {
		sources++
	}
	if v.producer != nil {
		sources++
		if !nodes[v.producer] {
			return bad("value %q is computed by a node that is gone", name)
		}
	}
	if v.param != nil {
		sources++
		if v.param.value != v || (v.param.data == nil) == (v.param.text == nil) {
			return bad("parameter %q is incomplete", name)
		}
	}
	if g.body != nil && slices.Contains(g.body.outer, v) {
		sources++
	}
	if v.name != name || v.graph != g {
		return bad("value %q is listed as %q", v.name, name)
	}
	if sources != 1 {
		return bad("value %q has %d sources", name, sources)
	}
	for _, n := range v.users {
		if !nodes[n] || !reads.has(n, n.reads(), v) {
			return bad("value %q lists %s, which does not read it", name, n.label())
		}
	}
	return nil
}

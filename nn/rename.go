package nn

import "slices"

// Rename renames the selected nodes, the values they compute and the parameters they read by f, which receives the
// old name; without a selector, everything. Inputs and outputs of the graph keep their names, since callers use
// them. The edit fails if a name is taken.
func (e *Edit) Rename(f func(name string) string, sel ...Selector) {
	if e.made(); e.err != nil {
		return
	}
	if f == nil {
		e.fail(errNoFunction)
		return
	}
	done := map[*Value]bool{}
	value := func(v *Value) {
		if v == nil || done[v] || v.input || slices.Contains(e.g.outputs, v) {
			return
		}
		done[v] = true
		e.RenameValue(v, f(v.name))
	}
	for _, n := range e.Nodes(sel...) {
		if n.name != "" {
			if name := f(n.name); name != n.name {
				e.RenameNode(n, name)
			}
		}
		for _, v := range n.in {
			if v.held() != nil {
				value(v)
			}
		}
		for _, v := range n.out {
			value(v)
		}
	}
}

// RemoveInput removes a graph input that nothing reads.
func (e *Edit) RemoveInput(name string) {
	v := e.Value(name)
	if e.err != nil {
		return
	}
	i := slices.Index(e.g.inputs, v)
	switch {
	case i < 0:
		e.Failf("%q is not an input", name)
	case len(v.users) > 0:
		e.Failf("input %q is read by %s", name, v.users[0].label())
	case slices.Contains(e.g.outputs, v):
		e.Failf("input %q is also an output", name)
	default:
		e.setInputs(without(e.g.inputs, i), "remove input "+name)
		g := e.g
		e.act(action{
			do:   func() { v.input = false; g.remove(name) },
			undo: func() { v.input = true; g.add(v) },
		})
	}
}

package nn

import (
	"fmt"
	"slices"

	"github.com/graft-ml/graft/internal/engine"
	"github.com/graft-ml/graft/nn/op"
	"gorgonia.org/tensor"
)

// The primitives below are the only code that changes a graph. Each records its inverse.

func (e *Edit) addValue(v *Value) {
	if e.g.values[v.name] != nil {
		e.Failf("two values would be named %q", v.name)
		return
	}
	var c *Change
	if v.param != nil {
		c = &Change{Kind: ParamAdded, Param: v.param, Name: v.name}
	}
	g := e.g
	e.act(action{do: func() { g.add(v) }, undo: func() { g.remove(v.name) }, change: c, grows: true})
}

func (e *Edit) removeValue(v *Value) {
	var c *Change
	if v.param != nil {
		c = &Change{Kind: ParamRemoved, Param: v.param, Name: v.name}
	}
	g := e.g
	e.act(action{do: func() { g.remove(v.name) }, undo: func() { g.add(v) }, change: c})
}

func (e *Edit) addNode(n *Node) {
	g := e.g
	var before nodeList
	e.act(action{
		do: func() {
			before = g.nodeList
			g.listNode(n)
			g.relabel(n.name, 1)
			n.useAll()
			n.adopt()
		},
		undo: func() {
			g.restore(before)
			g.relabel(n.name, -1)
			n.unuseAll()
		},
		change: &Change{Kind: NodeAdded, Node: n, Name: n.label()},
		text:   "add " + n.describe(),
		grows:  true,
	})
}

func (e *Edit) removeNode(n *Node) {
	g := e.g
	var before nodeList
	e.act(action{
		do: func() {
			before = g.nodeList
			g.removeNode(n)
			g.relabel(n.name, -1)
			n.unuseAll()
		},
		undo: func() {
			n.removed = false
			g.restore(before)
			g.relabel(n.name, 1)
			n.useAll()
		},
		change: &Change{Kind: NodeRemoved, Node: n, Name: n.label()},
		text:   "remove " + n.describe(),
	})
}

// contains reports whether n is in g now, and so are the values that it computes.
func (g *Graph) contains(n *Node) bool {
	for _, v := range n.out {
		if v != nil {
			return v.producer == n && g.values[v.name] == v
		}
	}
	return g.lists(n)
}

func (n *Node) describe() string { return fmt.Sprintf("%s %s", n.opType, n.label()) }

// setRead changes input i of n, counting captured values after the formal ones.
func (e *Edit) setRead(n *Node, i int, v *Value) {
	old := n.read(i)
	e.act(action{
		do: func() { n.replaceRead(i, v) }, undo: func() { n.replaceRead(i, old) },
		change: &Change{Kind: NodeChanged, Node: n, Name: n.label()},
		text:   fmt.Sprintf("%s reads %s instead of %s", n.describe(), v.id(), old.id()),
	})
}

// setIn replaces the whole input list of n.
func (e *Edit) setIn(n *Node, in []*Value) {
	old := n.in
	set := func(list []*Value) {
		n.unuseAll()
		n.in, n.places = list, nil
		n.useAll()
	}
	e.act(action{do: func() { set(in) }, undo: func() { set(old) },
		change: &Change{Kind: NodeChanged, Node: n, Name: n.label()}, text: "change the inputs of " + n.describe()})
}

func (e *Edit) setConfig(n *Node, c op.Config) {
	old, fresh := n.config, n.fresh
	e.act(action{
		do:     func() { n.config, n.fresh = c, true; n.adopt() },
		undo:   func() { n.config, n.fresh = old, fresh },
		change: &Change{Kind: NodeChanged, Node: n, Name: n.label()},
		text:   "change the attributes of " + n.describe(),
	})
}

func (e *Edit) setAnnotations(n *Node, a Annotations) {
	old := n.annotations
	e.act(action{
		do:     func() { n.annotations = a },
		undo:   func() { n.annotations = old },
		change: &Change{Kind: NodeChanged, Node: n, Name: n.label()},
		text:   "annotate " + n.describe(),
	})
}

// setOp changes the operator of n, or its configuration.
func (e *Edit) setOp(n *Node, c op.Config) {
	o, err := e.g.ops.Of(c)
	if err != nil {
		e.fail(err)
		return
	}
	if o == n.op {
		e.setConfig(n, c)
		return
	}
	set := func(o *op.Op, c op.Config, fresh bool) func() {
		return func() {
			n.op, n.domain, n.opType, n.config, n.fresh = o, o.Domain, c.Operator().Name, c, fresh
			n.adopt()
		}
	}
	e.act(action{do: set(o, c, true), undo: set(n.op, n.config, n.fresh),
		change: &Change{Kind: NodeChanged, Node: n, Name: n.label()}, text: fmt.Sprintf("%s becomes %v", n.describe(), o)})
}

// setOut makes values the outputs of n, including values that other nodes computed.
func (e *Edit) setOut(n *Node, out []*Value) {
	if slices.Equal(n.out, out) {
		return
	}
	type place struct {
		producer *Node
		index    int
	}
	old, places := n.out, make([]place, len(out))
	for i, v := range out {
		if v != nil {
			places[i] = place{v.producer, v.index}
		}
	}
	e.act(action{
		do: func() { n.give(out) },
		undo: func() {
			n.out = old
			for i, v := range out {
				if v != nil {
					v.producer, v.index = places[i].producer, places[i].index
				}
			}
		},
		change: &Change{Kind: NodeChanged, Node: n, Name: n.label()}, text: "change the outputs of " + n.describe(),
	})
}

// give makes values the outputs of n.
func (n *Node) give(out []*Value) {
	n.out = out
	for i, v := range out {
		if v != nil {
			v.producer, v.index = n, i
		}
	}
}

// setInputs replaces the list of inputs. The new list may continue the old one in the same memory.
func (e *Edit) setInputs(list []*Value, text string) {
	g, old := e.g, e.g.inputs
	e.act(action{do: func() { g.inputs = list }, undo: func() { g.inputs = slices.Clip(old) },
		change: &Change{Kind: PortsChanged}, text: text})
}

// setOutputs replaces the list of outputs, see setInputs.
func (e *Edit) setOutputs(list []*Value, text string) {
	g, old := e.g, e.g.outputs
	e.act(action{do: func() { g.outputs = list }, undo: func() { g.outputs = slices.Clip(old) },
		change: &Change{Kind: PortsChanged}, text: text})
}

// without returns the list without the value at an index. Iterations over the list are not affected.
func without(list []*Value, i int) []*Value {
	switch last := len(list) - 1; i {
	case 0:
		return list[1:]
	case last:
		return list[:last:last]
	}
	return slices.Delete(slices.Clone(list), i, i+1)
}

func (e *Edit) setType(v *Value, t op.Type) {
	old := v.typ
	e.act(action{do: func() { v.typ = t }, undo: func() { v.typ = old },
		change: &Change{Kind: PortsChanged, Name: v.name}, text: fmt.Sprintf("%s becomes %v", v.name, t)})
}

func (e *Edit) setData(p *Param, d *tensor.Dense) {
	old, typ := p.data, p.value.typ
	engine.Count(d)
	e.act(action{
		do:     func() { p.data, p.value.typ = d, op.TypeOf(d); p.Changed() },
		undo:   func() { p.data, p.value.typ = old, typ; p.Changed() },
		change: &Change{Kind: ParamChanged, Param: p, Name: p.id()},
		text:   fmt.Sprintf("parameter %s becomes %v", p.id(), op.TypeOf(d)),
	})
}

// SetFrozen excludes a parameter from training, or includes it again.
func (e *Edit) SetFrozen(p *Param, frozen bool) {
	if p == nil || !e.mine(p.value) {
		return
	}
	if old := p.frozen; old != frozen {
		e.act(action{do: func() { p.frozen = frozen }, undo: func() { p.frozen = old }})
	}
}

func (e *Edit) setRole(p *Param, r *Role) {
	old := p.role
	e.act(action{do: func() { p.role = r }, undo: func() { p.role = old }})
}

// RenameValue renames a value. Names of values are unique: the edit fails if the name is taken.
func (e *Edit) RenameValue(v *Value, name string) {
	if !e.mine(v) || v.name == name {
		return
	}
	if name == "" {
		e.Failf("value %q needs a name", v.name)
		return
	}
	if e.g.values[name] != nil {
		e.Failf("the name %q is taken", name)
		return
	}
	g, old := e.g, v.name
	set := func(from, to string) {
		g.remove(from)
		v.name = to
		g.add(v)
	}
	e.act(action{do: func() { set(old, name) }, undo: func() { set(name, old) },
		change: &Change{Kind: ValueRenamed, Name: name, Old: old}, text: "rename " + old + " to " + name})
}

// RenameNode renames a node. Names of nodes need not be unique.
func (e *Edit) RenameNode(n *Node, name string) {
	if !e.has(n) {
		return
	}
	old := n.name
	call := func(name string) func() {
		return func() {
			e.g.relabel(n.name, -1)
			n.name = name
			e.g.relabel(name, 1)
		}
	}
	e.act(action{do: call(name), undo: call(old),
		change: &Change{Kind: NodeChanged, Node: n, Name: name, Old: old}, text: "rename node " + old + " to " + name})
}

package nn

import (
	"slices"

	"github.com/graft-ml/graft/internal/engine"
	"github.com/graft-ml/graft/nn/op"
	"gorgonia.org/tensor"
)

// swapOutput makes v the graph output in place of old, with old's name.
func (e *Edit) swapOutput(old, v *Value) {
	list := slices.Clone(e.g.outputs)
	list[slices.Index(list, old)] = v
	e.setOutputs(list, "output "+old.name+" comes from "+v.name)
	if old.input || old.param != nil {
		return
	}
	name := old.name
	e.RenameValue(old, e.unique(name+"_before"))
	e.RenameValue(v, name)
}

// Rewire makes users of from read to instead: the given nodes, or, without any, all of them, in which case a graph output
// moves to the new value too.
func (e *Edit) Rewire(from, to *Value, users ...*Node) {
	if !e.mine(from) || !e.mine(to) || from == to {
		return
	}
	if len(users) > 0 {
		for _, u := range users {
			if e.has(u) && !u.readsValue(from) {
				e.Failf("node %s does not read %q", u.label(), from.name)
			}
		}
		e.rewire(from, to, users)
		return
	}
	e.rewire(from, to, slices.Clone(from.users))
	if slices.Contains(e.g.outputs, from) {
		e.swapOutput(from, to)
	}
}

func (e *Edit) rewire(from, to *Value, users []*Node) {
	if e.err != nil {
		return
	}
	for _, u := range users {
		if u == to.producer {
			continue
		}
		for _, i := range u.where(from) {
			e.setRead(u, i, to)
		}
	}
}

// unread reports whether nothing reads what the node computes.
func (n *Node) unread() bool { return n.readOutput() == nil }

// readOutput returns the first output of the node that a node or the graph's output reads, nil if there is none.
func (n *Node) readOutput() *Value {
	for _, v := range n.out {
		if v != nil && (len(v.users) > 0 || slices.Contains(n.graph.outputs, v)) {
			return v
		}
	}
	return nil
}

// bypass makes everything that read out read in. An output of the graph keeps its name: in is
// renamed, or copied if it must keep its own name.
func (e *Edit) bypass(out, in *Value) {
	e.rewire(out, in, slices.Clone(out.users))
	if e.err != nil || !slices.Contains(e.g.outputs, out) {
		return
	}
	if in.input || in.param != nil || slices.Contains(e.g.outputs, in) {
		c := e.Node(op.Plain("Identity"), in)
		if e.err != nil {
			return
		}
		in = c.out[0]
	}
	e.swapOutput(out, in)
}

func sameShape(a, b *Value) error {
	if a.typ.DType != b.typ.DType {
		return &Error{Input: a.name, Want: b.typ, Got: a.typ}
	}
	if a.typ.Unranked || b.typ.Unranked {
		return nil
	}
	if len(a.typ.Shape) != len(b.typ.Shape) {
		return &Error{Input: a.name, Want: b.typ, Got: a.typ}
	}
	for i, d := range a.typ.Shape {
		if d.Differ(b.typ.Shape[i]) {
			return &Error{Input: a.name, Want: b.typ, Got: a.typ}
		}
	}
	return nil
}

// drop removes nodes, whose outputs nothing else reads, and everything that only they needed.
func (e *Edit) drop(list ...*Node) {
	if e.err != nil {
		return
	}
	for _, n := range list {
		e.removeNode(n)
	}
	var read []*Value
	for _, n := range list {
		if v := n.readOutput(); v != nil {
			e.Failf("node %s is still read through %q", n.label(), v.name)
			return
		}
		e.removeOutputs(n)
		read = append(read, n.reads()...)
	}
	e.sweep(read...)
}

func (e *Edit) removeOutputs(n *Node) {
	for _, v := range n.out {
		if v != nil {
			e.removeValue(v)
		}
	}
}

// sweep removes those of the values that nothing reads any more: parameters, and nodes all of whose outputs are unread, with everything that
// only they needed.
func (e *Edit) sweep(list ...*Value) {
	stack := slices.Clone(list)
	slices.Reverse(stack)
	for len(stack) > 0 && e.err == nil {
		v := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		switch {
		case v == nil || e.g.values[v.name] != v || len(v.users) > 0 || slices.Contains(e.g.outputs, v):
		case v.param != nil:
			e.removeValue(v)
		case v.producer != nil && v.producer.unread(): // else it is an input
			n := v.producer
			e.removeNode(n)
			e.removeOutputs(n)
			from := len(stack)
			stack = append(stack, n.reads()...)
			slices.Reverse(stack[from:])
		}
	}
}

func sameType(old, v *Value) error {
	if old.typ.DType != v.typ.DType || !old.typ.Unranked && !v.typ.Unranked && len(old.typ.Shape) != len(v.typ.Shape) {
		return &Error{Input: v.name, Want: old.typ, Got: v.typ}
	}
	return nil
}

// Configure replaces the attributes of a node. c must be of the same operator.
func (e *Edit) Configure(n *Node, c op.Config) {
	if !e.has(n) {
		return
	}
	c, err := e.g.ops.Complete(c)
	if err != nil {
		e.fail(err)
		return
	}
	if c.Operator() != n.operator() {
		e.Failf("node %s is a %s, the attributes are those of %s", n.label(), n.operator(), c.Operator())
		return
	}
	if err := op.Available(n.op.Version(e.g.opset(n.domain)), c); err != nil {
		e.fail(located("edit", n, err))
		return
	}
	e.setConfig(n, c)
}

// SetData replaces the tensor of a parameter, possibly by one of another shape. A transposed or sliced tensor is copied.
// What holds for Param.Data does for d.
func (e *Edit) SetData(v *Value, d *tensor.Dense) {
	if e.replaceData(v, d); e.err == nil {
		v.param.kept.Lend()
	}
}

func (e *Edit) replaceData(v *Value, d *tensor.Dense) {
	if !e.mine(v) {
		return
	}
	if v.param == nil || d == nil {
		e.Failf("%q is not a parameter", v.name)
		return
	}
	e.setData(v.param, e.rowMajor(d))
}

// rowMajor returns d, or a contiguous copy if it is transposed or a slice of another tensor.
func (e *Edit) rowMajor(d *tensor.Dense) *tensor.Dense {
	c, err := engine.RowMajor(d)
	if err != nil {
		e.fail(err)
		return d
	}
	return c
}

// Freeze excludes the parameters of the selected nodes from training, running statistics included. Without a selector it
// freezes all parameters.
func (e *Edit) Freeze(sel ...Selector) { e.freeze(true, sel) }

// Unfreeze is the inverse of Freeze.
func (e *Edit) Unfreeze(sel ...Selector) { e.freeze(false, sel) }

func (e *Edit) freeze(frozen bool, sel []Selector) {
	for _, n := range e.Nodes(sel...) {
		for _, v := range n.reads() {
			e.SetFrozen(v.held(), frozen)
		}
	}
}

// SetRole sets the role of a parameter, overriding the one inferred from the operators that read it. In files a weight
// that is made a Constant is written as a Constant node. A role that does not follow from the use is stored as the
// documentation of the tensor or node: graft.role=constant or graft.role=weight.
func (e *Edit) SetRole(v *Value, r Role) {
	if !e.mine(v) {
		return
	}
	if v.param == nil {
		e.Failf("%q is not a parameter", v.name)
		return
	}
	e.setRole(v.param, &r)
}

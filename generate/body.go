package generate

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/graft-ml/graft/internal/direct"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/op"
)

// body is a subgraph of an operator, which becomes a function in source.
type body struct {
	*reader
	field   string   // attribute
	name    string   // name of the function
	types   []string // types of its inputs
	formal  []*value // its inputs, followed by the values that it captures
	from    int      // index of the first captured value among the inputs of the step
	outputs []arg
}

// bodies reads the subgraphs of a node.
func (r *reader) bodies(n *nn.Node, d *draft) error {
	v := reflect.ValueOf(n.Config())
	captured := n.Captured()
	for i, outer := range captured {
		if p := outer.Param(); p != nil && p.Role() != nn.Constant && slices.Index(captured, outer) < i {
			r.notes = append(r.notes, fmt.Sprintf("%s, which several subgraphs of %s read, is a weight of its own in each", p.Name(), n.Label()))
		}
	}
	for _, b := range n.Bodies() {
		_ = b.Graph.Infer() // nodes without inferred types are not folded
		x := &body{reader: &reader{
			ctx: r.ctx, g: b.Graph, vals: map[*nn.Value]*value{}, groups: map[*nn.Node]*nn.Composite{}, inside: map[*nn.Node]bool{}, folded: r.folded, learned: r.learned,
		}, from: len(d.in)}
		for i := range v.NumField() {
			if f, ok := v.Field(i).Interface().(op.Subgraph); ok && f == op.Subgraph(b) {
				x.field = v.Type().Field(i).Name
			}
		}
		for _, in := range b.Graph.Inputs() {
			if _, err := op.ParseType(in.Type().String()); err != nil {
				return refuse(n, "input %s of the subgraph, %v, cannot be written as Go source", in.Name(), in.Type())
			}
			x.types = append(x.types, in.Type().String())
			x.formal = append(x.formal, x.input(in))
		}
		for i, stand := range b.Outer() {
			outer := captured[i]
			if t := r.tensor(outer); t != nil {
				if t.Shape().TotalSize() <= small && (outer.Param() == nil || outer.Param().Role() == nn.Constant) {
					x.folded[stand] = t
					continue
				}
				x.formal = append(x.formal, x.input(stand))
				d.in = append(d.in, arg{con: r.constantOf(outer, t, "captured", n)})
				continue
			}
			x.formal = append(x.formal, x.input(stand))
			d.in = append(d.in, arg{val: r.val(outer)})
			d.from = append(d.from, outer)
		}
		captured = captured[len(b.Outer()):]
		x.lift = func(v *nn.Value) *value {
			if at := x.vals[v]; at != nil {
				return at
			}
			c := r.constantOf(v, direct.Data(v.Param()), "weight", n)
			d.in = append(d.in, arg{con: c})
			at := x.input(v)
			x.formal = append(x.formal, at)
			return at
		}
		if err := x.read(n); err != nil {
			return err
		}
		d.bodies = append(d.bodies, x)
	}
	return nil
}

// input returns the value for an input of the subgraph.
func (b *body) input(v *nn.Value) *value {
	x := &value{typ: v.Type(), input: v.Name()}
	b.vals[v] = x
	return x
}

func (b *body) read(n *nn.Node) error {
	needed := map[*nn.Value]bool{}
	for _, v := range b.g.Outputs() {
		needed[v] = true
	}
	for m := range b.g.Nodes() {
		if m.Op() == nil {
			return refuse(m, "graft does not know the operator")
		}
	}
	if err := b.readNodes(slices.Collect(b.g.Nodes()), needed); err != nil {
		return err
	}
	b.sort()
	for _, v := range b.g.Outputs() {
		if x := b.vals[v]; x != nil && (x.step != nil || x.input != "") {
			b.outputs = append(b.outputs, arg{val: x})
			continue
		}
		t := b.tensor(v)
		if t == nil {
			return refuse(n, "output %s of the subgraph cannot be written as Go source", v.Name())
		}
		c := b.constantOf(v, t, "value", n)
		if c.kind == conParam || c.kind == conBlank {
			return refuse(n, "output %s of the subgraph, a constant, cannot be written as Go source", v.Name())
		}
		x := &value{typ: v.Type()}
		s := &step{op: copied, kind: "constant", nodes: []*nn.Node{n}, in: []arg{{con: c}}, out: []*value{x}}
		x.step = s
		b.steps = append(b.steps, s)
		b.outputs = append(b.outputs, arg{val: x})
	}
	return nil
}

// build builds the subgraph like the function in source.
func (b *body) build(e *nn.Edit, captured []*nn.Value) *nn.Body {
	return e.Body(b.g.Name(), b.types, captured, func(e *nn.Edit, in ...*nn.Value) []*nn.Value {
		made := map[*value]*nn.Value{}
		for i, v := range b.formal {
			made[v] = in[i]
		}
		for _, s := range b.steps {
			s.build(e, made)
		}
		var out []*nn.Value
		for _, a := range b.outputs {
			out = append(out, made[a.val])
		}
		return out
	})
}

// inputs returns the number of inputs of a step that are not captured values.
func (s *step) inputs() int {
	if len(s.bodies) > 0 {
		return s.bodies[0].from
	}
	return len(s.in)
}

// capturedBy returns the inputs of a step that a subgraph captures.
func (s *step) capturedBy(k int) []arg {
	end := len(s.in)
	if k+1 < len(s.bodies) {
		end = s.bodies[k+1].from
	}
	return s.in[s.bodies[k].from:end]
}

// withBodies returns a step's configuration with its subgraphs as expressions of the source.
func (b *statements) withBodies(s *step) *comp {
	c := s.config
	if len(s.bodies) == 0 {
		return c
	}
	c = c.clone()
	for k, x := range s.bodies {
		if x.name == "" {
			x.name = b.bodyName(strings.ToLower(x.field))
			b.pending = append(b.pending, x)
		}
		types, captured := "nil", "nil"
		if len(x.types) > 0 {
			types = b.text(x.types)
		}
		if list := s.capturedBy(k); len(list) > 0 {
			captured = "[]*" + b.q(symValue) + "{" + b.argList(s, list) + "}"
		}
		c.field(x.field).ref = fmt.Sprintf("e.Body(%q, %s, %s, %s)", x.name, types, captured, x.name)
	}
	return c
}

// bodyName returns a name for the function of a subgraph.
func (p *printer) bodyName(base string) string {
	if p.bodies == nil {
		p.bodies, p.triedBodies = map[string]bool{}, map[string]int{}
	}
	if base != "body" {
		base += "Body"
	}
	name := base
	if p.bodies[name] {
		name = numberedName(p.triedBodies, base, 2, func(name string) bool { return !p.bodies[name] })
	}
	p.bodies[name] = true
	return name
}

// print writes the function of a subgraph.
func (x *body) print(p *printer) {
	b := p.statements()
	var items []item
	for _, s := range x.steps {
		items = append(items, item{step: s})
		for _, v := range s.values() {
			b.expect(v, 1)
		}
	}
	for _, a := range x.outputs {
		b.expect(a.val, 1)
	}
	p.f("// %s is a subgraph.\nfunc %s(e *%s, in ...*%s) []*%s {\n", x.name, x.name, p.q(symEdit), p.q(symValue), p.q(symValue))
	for i, v := range x.formal {
		b.hold(v, fmt.Sprintf("in[%d]", i))
	}
	b.write(items)
	p.f("return []*%s{%s}\n}\n\n", p.q(symValue), b.argList(nil, x.outputs))
}

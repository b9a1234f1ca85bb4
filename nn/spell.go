package nn

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/graft-ml/graft/internal/engine"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/std"
)

// speller writes one node in the operator-set versions of the edited graph, by the rules that the operators declare
// (op.Version, op.Op.Decompose). It translates between values and operands.
type speller struct {
	e        *Edit
	label    string // prefix of the names of added nodes and values, unless empty
	operands map[*Value]*op.Operand
	values   map[*op.Operand]*Value
}

func (e *Edit) speller(label string) *speller {
	return &speller{e: e, label: label, operands: map[*Value]*op.Operand{}, values: map[*op.Operand]*Value{}}
}

// opsetOf returns the graph's operator-set version of a domain; for a domain that it does not use yet, the newest.
func (e *Edit) opsetOf(domain string) int {
	if v, ok := e.g.opsets[domain]; ok {
		return v
	}
	return op.Newest
}

// operand returns what the steps of an operator see of a value.
func (s *speller) operand(v *Value) *op.Operand {
	if v == nil {
		return nil
	}
	x := s.operands[v]
	if x == nil {
		x = &op.Operand{Type: v.typ, Known: v.known}
		if v.param != nil && v.param.data != nil && !v.input {
			x.Known.Value = v.param.data
		}
		s.operands[v], s.values[x] = x, v
	}
	return x
}

func (s *speller) list(values []*Value) []*op.Operand {
	list := make([]*op.Operand, len(values))
	for i, v := range values {
		list[i] = s.operand(v)
	}
	return list
}

// inputs returns the values of a part's operands; constants are added where they are read.
func (s *speller) inputs(p *op.Part) []*Value {
	list := make([]*Value, len(p.In))
	for i, x := range p.In {
		if x == nil {
			continue
		}
		if s.values[x] == nil && x.Constant() {
			s.add("", &op.Part{Config: std.ConstantConfig{Value: x.Known.Value}, Out: []*op.Operand{x}}, nil)
			if n := s.values[x]; n != nil {
				s.e.fail(s.e.g.inferNode(n.producer))
			}
		}
		list[i] = s.values[x]
	}
	return list
}

// outputs returns the values of a part's outputs; new ones get names.
func (s *speller) outputs(p *op.Part) []*Value {
	list := make([]*Value, len(p.Out))
	for i, x := range p.Out {
		if x == nil {
			continue
		}
		if s.values[x] == nil {
			v := &Value{name: s.name(x.Name, p.Config), typ: x.Type, known: x.Known, graph: s.e.g}
			s.e.addValue(v)
			s.values[x] = v
		}
		list[i] = s.values[x]
	}
	return list
}

// name returns a name for a value that the adapter adds.
func (s *speller) name(what string, c op.Config) string {
	if what == "" {
		what = strings.ToLower(c.Operator().Name)
	}
	if s.label != "" {
		what = s.label + "." + what
	}
	return s.e.unique(what)
}

// knows reports whether a value of the edited graph, or of an enclosing one, has the name.
func (e *Edit) knows(name string) bool { return e != nil && (e.g.has(name) || e.outer.knows(name)) }

// taken reports whether a value has the name in this graph, an enclosing graph or a subgraph: names in
// a file's subgraphs must not hide those of enclosing graphs.
func (e *Edit) taken(name string) bool {
	if e.bodies == nil {
		e.bodies = e.g.scopedBodies()
	}
	return e.knows(name) || slices.ContainsFunc(e.bodies, func(b *Body) bool {
		v := b.Graph.values[name]
		return v != nil && !slices.Contains(b.outer, v)
	})
}

// add adds the node of a part.
func (s *speller) add(name string, p *op.Part, captured []*Value) *Node {
	o, err := s.e.g.ops.Of(p.Config)
	if err != nil {
		s.e.fail(err)
		return nil
	}
	if r, ok := p.Config.(std.Referrer); ok && captured == nil {
		for _, name := range r.Refers() {
			captured = append(captured, s.e.Value(name))
		}
		if s.e.err != nil {
			return nil
		}
	}
	n := &Node{name: name, domain: o.Domain, opType: p.Config.Operator().Name, op: o, config: p.Config, captured: captured, graph: s.e.g, fresh: true}
	for _, b := range n.bodies() {
		b.Graph.useOps(s.e.g.ops)
	}
	n.in = s.inputs(p)
	if s.e.err != nil {
		return nil
	}
	if err := s.e.available(n); err != nil {
		s.e.fail(err)
		return nil
	}
	out := s.outputs(p)
	if !slices.ContainsFunc(out, func(v *Value) bool { return v != nil && v.producer != nil }) {
		n.give(out)
		s.e.addNode(n)
	} else { // of a node that this one replaces
		s.e.addNode(n)
		s.e.setOut(n, out)
	}
	return n
}

// addition describes an operator to be added to a graph.
type addition struct {
	label        string // name of the node that computes the first output
	config       op.Config
	from         int // the operator-set version for which it is written
	in, captured []*Value
	out          []string // names of its outputs, made unique; "" for an output that nothing reads
}

// one is Op for an operator with one output.
func (e *Edit) one(label string, c op.Config, in ...*Value) *Value {
	out := e.Op(label, c, 1, in...)
	if e.err != nil {
		return nil
	}
	return out[0]
}

// Op is NodeN with a label, from which the names of the node and its outputs are made, and returns the outputs. They may
// come from several nodes if the graph's operator set needs several. Without a label the names are made from the
// operator's.
func (e *Edit) Op(label string, c op.Config, outputs int, in ...*Value) []*Value {
	e.made()
	if e.err != nil {
		return nil
	}
	c, err := e.g.ops.Complete(c)
	if err != nil {
		e.fail(err)
		return nil
	}
	o, err := e.g.ops.Of(c)
	if err != nil {
		e.fail(err)
		return nil
	}
	err = engine.Fits(1024 * float64(outputs))
	switch {
	case outputs < 0:
		err = fmt.Errorf("cannot have %d outputs", outputs)
	case err != nil:
		err = fmt.Errorf("cannot have %d outputs: %w", outputs, err)
	}
	if err != nil {
		e.fail(&Error{Op: o.Name, Node: label, Err: err})
		return nil
	}
	a := addition{label: e.g.label(label), config: c, from: op.Newest, in: in}
	for _, b := range configBodies(c) {
		a.captured = append(a.captured, b.captured...)
	}
	if op.Available(o.Latest(), c) != nil {
		a.from = e.opsetOf(o.Domain)
	}
	name := a.label
	if name == "" {
		name = strings.ToLower(o.Name)
	}
	a.out = slices.Repeat([]string{name}, outputs)
	return e.build(a)
}

// build adds the operator and returns its outputs, nil where one is absent.
func (e *Edit) build(a addition) []*Value {
	for _, v := range slices.Concat(a.in, a.captured) {
		if v != nil && !e.mine(v) {
			return nil
		}
	}
	if e.err != nil {
		return nil
	}
	s := e.speller(a.label)
	p := &op.Part{Config: a.config, In: s.list(a.in)}
	for _, name := range a.out {
		if name == "" {
			p.Out = append(p.Out, nil)
			continue
		}
		p.Out = append(p.Out, &op.Operand{})
	}
	given := slices.Clone(p.Out)
	parts, err := e.respell(p, a.from)
	if err != nil {
		e.fail(err)
		return nil
	}
	out := make([]*Value, len(given))
	for i, x := range given {
		if x != nil {
			out[i] = &Value{name: e.unique(a.out[i]), graph: e.g}
			s.values[x] = out[i]
			e.addValue(out[i])
		}
	}
	if len(p.In) < len(a.in) || parts[len(parts)-1] != p { // some became attributes
		e.spelled = append(e.spelled, a.in...)
	}
	for _, q := range parts {
		name, outer := "", []*Value(nil)
		if i := slices.IndexFunc(given, func(x *op.Operand) bool { return x != nil }); i >= 0 && slices.Contains(q.Out, given[i]) {
			name = a.label
		}
		if q == p {
			outer = a.captured
		}
		n := s.add(name, q, outer)
		if e.err != nil {
			return nil
		}
		if err := e.g.inferNode(n); err != nil {
			e.fail(err)
			return nil
		}
	}
	return out
}

// respell writes a part for the graph's operator sets.
func (e *Edit) respell(p *op.Part, from int) ([]*op.Part, error) {
	o, err := e.g.ops.Of(p.Config)
	if err != nil {
		return nil, err
	}
	to := e.opsetOf(o.Domain)
	if o.Domain == op.Internal || o.Version(from) == o.Version(to) {
		return []*op.Part{p}, nil
	}
	parts, err := e.g.ops.Respell(p, from, e.opsetOf)
	var need *op.VersionError
	switch {
	case errors.As(err, &need) && need.Why == nil:
		err = fmt.Errorf("needs operator set %d, the graph has %d", need.Needs, to)
	case errors.As(err, &need):
		err = fmt.Errorf("needs operator set %d, the graph has %d: %w", need.Needs, to, need.Why)
	}
	if err != nil {
		return nil, &Error{Op: o.Name, Err: err}
	}
	return parts, nil
}

// oneNode returns the node that all of the given values are outputs of, in order.
func (e *Edit) oneNode(c op.Config, out []*Value) *Node {
	if e.err != nil {
		return nil
	}
	if len(out) == 0 {
		e.fail(&Error{Op: c.Operator().Name, Err: errors.New("cannot have 0 outputs: want a node with some")})
		return nil
	}
	n := out[0].producer
	if !slices.Equal(n.out, out) {
		name := c.Operator()
		e.fail(&Error{Op: name.Name, Err: fmt.Errorf("operator set %d lacks it, and its replacement is several nodes where one is needed", e.opsetOf(name.Domain))})
		return nil
	}
	return n
}

// SetOpset rewrites the graph, its subgraphs included, for another version of the standard operator set. Nodes stay the
// same nodes unless their operator has to be decomposed; values always stay the same. The edit fails if an operator or an
// element type cannot be expressed in that version, and says why.
func (e *Edit) SetOpset(version int) {
	if e.err != nil {
		return
	}
	from, newest := e.Opset(), e.g.ops.Newest("")
	if version < 1 || version > newest {
		e.Failf("there is no operator set %d: want 1 to %d", version, newest)
		return
	}
	if version == from {
		return
	}
	set := e.g.opsets
	e.act(action{do: func() { set[""] = version }, undo: func() { set[""] = from }, text: fmt.Sprintf("operator set %d", version)})
	e.convert(from)
}

// convert rewrites the nodes of the graph, whose operator-set version has been changed already, and of its subgraphs.
func (e *Edit) convert(from int) {
	to := e.Opset()
	for _, n := range slices.Clone(e.g.nodes()) {
		if e.ended() {
			return
		}
		for _, b := range n.bodies() {
			if identity(b.Graph.opsets) == identity(e.g.opsets) {
				e.convertBody(b, from)
			}
		}
		if n.domain != "" {
			continue
		}
		if n.op == nil {
			e.fail(&Error{Op: n.opType, Node: n.label(), Err: fmt.Errorf("cannot be written in operator set %d: the operator is not known", to)})
			return
		}
		if err := e.convertNode(n, from, to); err != nil && e.err == nil {
			e.fail(&Error{Op: n.opType, Node: n.label(), Err: fmt.Errorf("cannot be written in operator set %d: %w", to, err)})
		}
	}
}

// convertBody is convert for a subgraph: an edit of it is part of this one.
func (e *Edit) convertBody(b *Body, from int) {
	if e.err != nil {
		return
	}
	sub := &Edit{g: b.Graph, acts: e.acts, outer: e}
	sub.convert(from)
	sub.sortNodes()
	e.log, e.acts = append(e.log, sub.log...), sub.acts
	e.fail(sub.err)
}

func (e *Edit) convertNode(n *Node, from, to int) error {
	s := e.speller(n.label())
	p := &op.Part{Config: n.config, In: s.list(n.in), Out: s.list(n.out)}
	if err := e.typesExist(p, to); err != nil {
		return err
	}
	if n.op.Version(from) == n.op.Version(to) {
		return nil
	}
	parts, err := e.g.ops.Respell(p, from, e.opsetOf)
	if err != nil {
		return err
	}
	for _, q := range parts {
		if err := e.typesExist(q, to); err != nil {
			return fmt.Errorf("%v: %w", q.Config.Operator(), err)
		}
	}
	at := slices.Index(parts, p)
	reads := n.reads()
	if at < 0 {
		e.removeNode(n)
	}
	for i, q := range parts {
		if i != at {
			s.add("", q, nil)
			continue
		}
		in := s.inputs(p)
		e.setOp(n, p.Config)
		if !slices.Equal(in, n.in) {
			e.setIn(n, in)
		}
		e.setOut(n, s.outputs(p))
	}
	for _, v := range reads {
		e.sweep(v)
	}
	return e.err
}

// typesExist refuses element types that came with a later operator set, or to the operator.
func (e *Edit) typesExist(p *op.Part, to int) error {
	o, err := e.g.ops.Of(p.Config)
	if err != nil {
		return err
	}
	types := func(list []*op.Operand) (out []op.Type) {
		for _, x := range list {
			t := op.Type{}
			if x != nil {
				t = x.Type
			}
			out = append(out, t)
		}
		return out
	}
	if t, since := o.NewestType(types(p.In), types(p.Out)); since > to {
		return fmt.Errorf("%v came with %d", t, since)
	}
	return nil
}

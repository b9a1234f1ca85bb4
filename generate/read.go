package generate

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/onnxio"
	"gorgonia.org/tensor"
)

// reader converts the nodes of a graph to steps.
type reader struct {
	ctx        context.Context // of the call that reads
	g          *nn.Graph
	vals       map[*nn.Value]*value
	folded     map[*nn.Value]*tensor.Dense // values that are computed from parameters alone and take their place
	learned    map[*nn.Value]bool          // of these, those that are computed from trained ones
	apartKnown map[*nn.Value]bool          // parameters that several values are made of, none of the same elements
	groups     map[*nn.Node]*nn.Composite  // by the node that they end in
	inside     map[*nn.Node]bool           // nodes inside of groups that became one step
	steps      []*step
	lift       func(v *nn.Value) *value // of a subgraph: a parameter becomes a value that it captures
	notes      []string
	variables  []*step             // operators with constants that the source has a variable for
	spelled    map[*nn.Node]*layer // layers that replaced groups of nodes, by their last node
	shared     []*step             // parameters that several nodes read
	style      string
	work       int  // what is left for the search for repeated blocks, see spend
	training   bool // the model is in training mode; the graph that is read no longer is
}

// refuse returns the error that names the operator and the node that cannot be written as source, with the reason.
func refuse(n *nn.Node, format string, args ...any) error {
	return &nn.Error{Stage: "generate", Op: n.Type(), Node: n.Label(), Err: fmt.Errorf(format, args...)}
}

// read returns the steps of all nodes that the outputs depend on.
func read(ctx context.Context, g *nn.Graph, style string) (*reader, error) {
	if err := onnxio.CheckData(g); err != nil {
		return nil, fmt.Errorf("generate: %w", err)
	}
	for n := range g.Nodes() {
		if n.Op() == nil {
			return nil, refuse(n, "graft does not know the operator")
		}
	}
	spelled, err := attentions(ctx, g)
	if err != nil {
		return nil, fmt.Errorf("generate: %w", err)
	}
	r, err := newReader(ctx, g)
	if err != nil {
		return nil, err
	}
	r.spelled, r.style = spelled, style
	for _, v := range g.Inputs() {
		r.vals[v] = &value{typ: v.Type(), input: v.Name()}
	}
	if err := r.fold(ctx); err != nil {
		return nil, err
	}
	nodes := slices.Collect(g.Nodes())
	needed := map[*nn.Value]bool{}
	for _, v := range g.Outputs() {
		needed[v] = true
	}
	if err := r.readNodes(nodes, needed); err != nil {
		return nil, err
	}
	if err := r.constantOutputs(); err != nil {
		return nil, err
	}
	r.sort()
	r.hoist()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	for v, x := range r.vals {
		if x.step == nil && x.input == "" {
			return nil, fmt.Errorf("generate: no step computes %s", v.Name())
		}
	}
	r.count()
	return r, ctx.Err()
}

// newReader returns an empty reader.
func newReader(ctx context.Context, g *nn.Graph) (*reader, error) {
	r := &reader{ctx: ctx, g: g, vals: map[*nn.Value]*value{}, groups: map[*nn.Node]*nn.Composite{}, inside: map[*nn.Node]bool{}}
	list, err := g.Composites(ctx)
	for _, x := range list {
		r.groups[x.Nodes[len(x.Nodes)-1]] = &x
	}
	return r, err
}

// readNodes makes the steps of nodes that the needed values depend on.
func (r *reader) readNodes(nodes []*nn.Node, needed map[*nn.Value]bool) error {
	// Backwards, so that only needed nodes are written, and a group is at the position of its last node.
	for _, n := range slices.Backward(nodes) {
		if err := r.ctx.Err(); err != nil {
			return err
		}
		if r.inside[n] || !slices.ContainsFunc(n.Outputs(), func(v *nn.Value) bool { return v != nil && needed[v] }) || r.constant(n) {
			continue
		}
		s, err := r.step(n)
		if err != nil {
			return err
		}
		for _, x := range s.from {
			if x != nil {
				needed[x] = true
			}
		}
		r.steps = append(r.steps, s.step)
	}
	slices.Reverse(r.steps)
	r.place()
	return nil
}

// sort sorts the steps topologically, keeping their order where possible.
func (r *reader) sort() {
	done := map[*step]bool{}
	var list []*step
	var add func(s *step)
	add = func(s *step) {
		if done[s] {
			return
		}
		done[s] = true
		for _, v := range s.values() {
			if v.step != nil {
				add(v.step)
			}
		}
		list = append(list, s)
	}
	for i, s := range r.steps {
		if i%lookEvery == 0 && r.ended() {
			return
		}
		add(s)
	}
	r.steps = list
}

// count counts the readers of each value.
func (r *reader) count() {
	for _, v := range r.vals {
		v.users = 0
	}
	for _, s := range r.steps {
		for _, v := range s.values() {
			v.users++
		}
	}
	for _, v := range r.g.Outputs() {
		if x := r.vals[v]; x != nil {
			x.users++
		}
	}
}

// val returns the step's view of a computed value.
func (r *reader) val(v *nn.Value) *value {
	if x := r.vals[v]; x != nil {
		return x
	}
	x := &value{typ: v.Type()}
	r.vals[v] = x
	return x
}

// draft is a step before its inputs are resolved.
type draft struct {
	*step
	from []*nn.Value // the values that it reads
}

// step makes the step that ends in a node: for its group, or for the node only.
func (r *reader) step(n *nn.Node) (draft, error) {
	if l := r.spelled[n]; l != nil {
		for _, m := range l.nodes {
			r.inside[m] = m != n
		}
		return r.layered(l, n)
	}
	if x := r.groups[n]; x != nil {
		if d, ok := r.composite(x); ok {
			for _, m := range d.nodes {
				r.inside[m] = m != n
			}
			return d, nil
		}
	}
	if f := readers[n.Type()]; f != nil && ofStandard(n, n.Type()) && ranked(n) {
		if l := f(r, n); l != nil {
			for _, m := range l.nodes {
				r.inside[m] = m != n
			}
			return r.layered(l, n)
		}
	}
	return r.operator(n)
}

// ranked reports whether the rank of what the node reads first is known, as layers want it. In a subgraph it need not be.
func ranked(n *nn.Node) bool {
	x := n.In(0)
	return x == nil || x.Type().Present() && !x.Type().Unranked
}

// layer is a layer that was recognized.
type layer struct {
	nn.Layer
	kind     string // names layers that the model does not name
	in       []*nn.Value
	out      []*nn.Value // nil: the outputs of the last node
	weights  map[string]*tensor.Dense
	name     string // its name in the model
	nodes    []*nn.Node
	defaults map[string]any
	what     string // its inputs that are constants
}

func (r *reader) layered(l *layer, n *nn.Node) (draft, error) {
	c, err := compOf(l.Layer, l.defaults)
	if err != nil {
		return draft{}, refuse(n, "%v", err)
	}
	if len(l.nodes) == 0 {
		l.nodes = []*nn.Node{n}
	}
	s := &step{layer: c, kind: l.kind, weights: l.weights, nodes: l.nodes}
	var from []*nn.Value
	for _, v := range l.in {
		t := r.tensor(v)
		switch {
		case v == nil:
			s.in = append(s.in, arg{})
		case t != nil:
			s.in = append(s.in, r.own(v, r.constantOf(v, t, cmp.Or(l.what, "mask"), n)))
		default:
			s.in, from = append(s.in, arg{val: r.val(v)}), append(from, v)
		}
	}
	if l.out == nil {
		l.out = n.Outputs()
	}
	for _, v := range l.out {
		if v == nil {
			s.out = append(s.out, nil)
			continue
		}
		x := r.val(v)
		x.step = s
		s.out = append(s.out, x)
	}
	s.scope = scopeOf(l.name)
	if len(s.scope) == 0 {
		s.scope = scopeOfNode(n)
	}
	if s.scope == nil && len(l.weights) > 0 && !strings.HasPrefix(strings.ToLower(n.Name()), strings.ToLower(n.Type())) {
		s.scope = scopeOf(n.Name())
	}
	return draft{s, from}, nil
}

// operator makes a step that calls the node's operator.
func (r *reader) operator(n *nn.Node) (draft, error) {
	d, err := r.call(n.Config(), n.Inputs(), []*nn.Node{n})
	if err == nil {
		err = r.bodies(n, &d)
	}
	return d, err
}

// call makes a step that calls an operator with these attributes and inputs in place of nodes, whose last has its outputs.
func (r *reader) call(config op.Config, inputs []*nn.Value, nodes []*nn.Node) (draft, error) {
	n := nodes[len(nodes)-1]
	c, err := configOf(config)
	if err != nil {
		return draft{}, refuse(n, "%v", err)
	}
	s := &step{config: c, op: config.Operator(), nodes: nodes, scope: scopeOfNode(n)}
	s.kind = strings.ToLower(s.op.Name)
	if c.plain() {
		s.config = nil
	}
	formal := r.g.Ops().Find(s.op.Domain, s.op.Name).In.List()
	d := draft{step: s}
	for i, v := range inputs {
		t := r.tensor(v)
		switch {
		case v == nil:
			s.in = append(s.in, arg{})
		case t != nil:
			slot, _ := op.At(formal, i)
			c := r.constantOf(v, t, slot.Name, n)
			if r.lift != nil && (c.kind == conParam || c.kind == conBlank) {
				s.in = append(s.in, arg{val: r.lift(v)})
				continue
			}
			s.in = append(s.in, r.own(v, c))
		case v.Param() != nil && !v.IsInput():
			return draft{}, refuse(n, "input %s, a constant of type %v, cannot be written as Go source", v.Name(), v.Type())
		default:
			s.in = append(s.in, arg{val: r.val(v)})
			d.from = append(d.from, v)
		}
	}
	for _, v := range n.Outputs() {
		if v == nil {
			s.out = append(s.out, nil)
			continue
		}
		x := r.val(v)
		x.step = s
		s.out = append(s.out, x)
	}
	return d, nil
}

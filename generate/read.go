package generate

import (
	"cmp"
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/trait"
	"github.com/graft-ml/graft/onnxio"
	"gorgonia.org/tensor"
)

// small is the maximum number of elements of a constant that is written as a literal.
const small = 64

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
	r := newReader(ctx, g)
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
	for v, x := range r.vals {
		if x.step == nil && x.input == "" {
			return nil, fmt.Errorf("generate: no step computes %s", v.Name())
		}
	}
	r.count()
	return r, nil
}

// newReader returns an empty reader.
func newReader(ctx context.Context, g *nn.Graph) *reader {
	r := &reader{ctx: ctx, g: g, vals: map[*nn.Value]*value{}, groups: map[*nn.Node]*nn.Composite{}, inside: map[*nn.Node]bool{}}
	for _, x := range g.Composites() {
		r.groups[x.Nodes[len(x.Nodes)-1]] = &x
	}
	return r
}

// readNodes makes the steps of nodes that the needed values depend on.
func (r *reader) readNodes(nodes []*nn.Node, needed map[*nn.Value]bool) error {
	// Backwards, so that only needed nodes are written, and a group is at the position of its last node.
	for _, n := range slices.Backward(nodes) {
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

// constantOutputs makes steps for outputs that are constants.
func (r *reader) constantOutputs() error {
	for _, v := range r.g.Outputs() {
		if x := r.vals[v]; x != nil && (x.step != nil || x.input != "") {
			continue
		}
		t := r.tensor(v)
		if t == nil {
			return fmt.Errorf("generate: output %s, %v, cannot be written as Go source", v.Name(), v.Type())
		}
		n := v.Producer()
		if n == nil {
			return fmt.Errorf("generate: output %s is a parameter that nothing computes", v.Name())
		}
		x := r.val(v)
		s := &step{op: copied, kind: "constant", nodes: []*nn.Node{n}, in: []arg{{con: r.constantOf(v, t, "value", n)}}, out: []*value{x}}
		x.step = s
		r.steps = append(r.steps, s)
	}
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
	for _, s := range r.steps {
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

// constant reports whether every output of a node is folded, so that it needs no step.
func (r *reader) constant(n *nn.Node) bool {
	for _, v := range n.Outputs() {
		if v != nil && r.tensor(v) == nil {
			return false
		}
	}
	return true
}

// tensor returns the value of v if it does not depend on the model's inputs, otherwise nil.
func (r *reader) tensor(v *nn.Value) *tensor.Dense {
	if v == nil {
		return nil
	}
	if p := v.Param(); p != nil && !v.IsInput() {
		return p.Data()
	}
	if d := r.folded[v]; d != nil {
		return d
	}
	d, _ := v.Known().Value.(*tensor.Dense)
	if d != nil && v.Type().DType.IsFloat() && d.Shape().TotalSize() > 1 && v.Producer() != nil {
		if x := v.Producer().In(0); x != nil && !x.Type().DType.IsFloat() {
			return nil // integers of a quantized model stay integers
		}
	}
	return d
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
	if f := readers[n.Type()]; f != nil && ofStandard(n, n.Type()) {
		if l := f(r, n); l != nil {
			for _, m := range l.nodes {
				r.inside[m] = m != n
			}
			return r.layered(l, n)
		}
	}
	return r.operator(n)
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

// alone reports whether a single node reads the elements of a parameter; copies that become separate parameters are not readers.
func (r *reader) alone(v *nn.Value) bool {
	n := 0
	for _, u := range readersOf(v) {
		if !copies(u) || r.folded[u.Out(0)] == nil {
			n++
		}
	}
	return n < 2
}

// near is the maximum distance, in steps, between readers of a parameter that is written before the first of them.
const near = 12

// place moves parameters that several steps read before the first of these, if they are all in one block; otherwise before all
// steps.
func (r *reader) place() {
	var front []*step
	for _, p := range r.shared {
		first, last := -1, -1
		var common []string
		known := true
		for i, s := range r.steps {
			if !slices.Contains(s.values(), p.out[0]) {
				continue
			}
			if last = i; first < 0 {
				first, common = i, s.scope
			}
			n := 0
			for n < len(common) && n < len(s.scope) && common[n] == s.scope[n] {
				n++
			}
			common, known = common[:n], known && s.scope != nil
		}
		if first < 0 {
			continue
		}
		if known && !slices.ContainsFunc(common, func(w string) bool { return digits.MatchString(w) }) || last-first > near {
			front = append(front, p)
			continue
		}
		p.scope = nil
		if known {
			p.scope = append(slices.Clone(common), scopeOf(lastPart(p.in[0].con.name.v.(string)))...)
		}
		r.steps = slices.Insert(r.steps, first, p)
	}
	slices.Reverse(front) // in the order of their readers, which were read backwards
	r.steps = append(front, r.steps...)
}

// lastPart returns a name without its scopes.
func lastPart(name string) string { return name[strings.LastIndexByte(name, '.')+1:] }

// short is the maximum number of elements of a constant that is repeated as a literal for each of its readers.
const short = 8

// own returns a constant as an input of a step: the constant, or the value of a separate step if several nodes read its elements.
func (r *reader) own(v *nn.Value, c *constant) arg {
	elements := c.data.Shape().TotalSize()
	written := c.kind == conParam || c.kind == conBlank || c.kind == conSmall && elements > short
	if r.style == Gorgonia || !written || r.alone(v) || elements == 0 {
		return arg{con: c}
	}
	x := r.val(v)
	if x.step == nil {
		if !strings.Contains(c.name.v.(string), "::") && v.Param() != nil {
			c.name.v = v.Name()
		}
		x.step = &step{alone: true, op: copied, kind: "constant", nodes: v.Users()[:1], in: []arg{{con: c}}, out: []*value{x}, scope: []string{}}
		r.shared = append(r.shared, x.step)
	}
	return arg{val: x}
}

// operator makes a step that calls the node's operator.
func (r *reader) operator(n *nn.Node) (draft, error) {
	c, err := configOf(n.Config())
	if err != nil {
		return draft{}, refuse(n, "%v", err)
	}
	s := &step{config: c, op: n.Config().Operator(), kind: strings.ToLower(n.Type()), nodes: []*nn.Node{n}, scope: scopeOfNode(n)}
	if c.plain() {
		s.config = nil
	}
	formal := n.Op().In.List()
	d := draft{step: s}
	for i, v := range n.Inputs() {
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
	if err := r.bodies(n, &d); err != nil {
		return d, err
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

// constantOf returns a tensor that an operator reads.
func (r *reader) constantOf(v *nn.Value, t *tensor.Dense, slot string, n *nn.Node) *constant {
	dt := dtype.Of(t.Dtype())
	c := &constant{name: &lit{v: slot, hint: "name"}, data: t, fill: fillOf(n, slices.Index(n.Inputs(), v), t)}
	role := nn.Constant
	if p := v.Param(); p != nil {
		role = p.Role()
	} else if v.Type().DType.IsFloat() && r.learned[v] {
		role = nn.Weight
	}
	elements := t.Shape().TotalSize()
	switch {
	case role != nn.Constant && dt.IsFloat():
		c.kind, c.list = conParam, &lit{v: []int(t.Shape().Clone()), hint: "shape"}
	case dt == dtype.Int64 && t.Dims() == 1 && elements <= small:
		ints, _ := dtype.Ints(t)
		c.kind, c.list = conInts, &lit{v: ints, hint: slot}
	case dt.IsFloat() && t.Dims() == 0 && slices.ContainsFunc(n.Inputs(), func(x *nn.Value) bool { return x != nil && r.tensor(x) == nil && x.Type().DType == dt }):
		f, _ := dtype.Float64s(t)
		c.kind, c.list = conScalar, &lit{v: exact(f[0], dt), hint: slot}
	case elements > 0 && elements <= small && spelled(dt):
		c.kind, c.list = conSmall, &lit{v: elementsOf(t), hint: slot}
	default:
		c.kind, c.list = conBlank, &lit{v: []int(t.Shape().Clone()), hint: "shape"}
	}
	if c.kind == conParam || c.kind == conBlank {
		c.name.v = v.Name()
		if p := r.origin(v); p != nil {
			c.name.v = p.Name()
		} else if i := strings.LastIndex(v.Name(), "/"); i >= 0 && v.Param() == nil {
			c.name.v = strings.Join(append(scopeOfNode(n), slot), ".")
		}
	}
	return c
}

// origin returns the parameter whose elements a folded value has, in the same order, if the model names it.
func (r *reader) origin(v *nn.Value) *nn.Param {
	for v != nil && r.folded[v] != nil && v.Producer() != nil && (copies(v.Producer()) || v.Producer().Traits().Moves == trait.MovedInOrder) {
		v = v.Producer().In(0)
	}
	if v == nil || v.Param() == nil || strings.Contains(v.Name(), "::") {
		return nil
	}
	return v.Param()
}

// exact returns a number with the digits that its type needs in source.
func exact(f float64, t dtype.DType) float64 {
	if t.Size() <= 4 {
		return round(float32(f))
	}
	return f
}

// spelled reports whether tensors of a type can be written as literals.
func spelled(t dtype.DType) bool {
	switch t {
	case dtype.Float32, dtype.Float64, dtype.Int8, dtype.Int16, dtype.Int32, dtype.Int64, dtype.Uint8, dtype.Uint16, dtype.Uint32, dtype.Uint64, dtype.Bool:
		return true
	}
	return false
}

// elementsOf returns the elements of a tensor as a slice.
func elementsOf(t *tensor.Dense) any {
	v := reflect.ValueOf(t.Data())
	if v.Kind() != reflect.Slice {
		s := reflect.MakeSlice(reflect.SliceOf(v.Type()), 1, 1)
		s.Index(0).Set(v)
		return s.Interface()
	}
	return v.Slice(0, t.Shape().TotalSize()).Interface()
}

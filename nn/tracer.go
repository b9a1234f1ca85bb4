package nn

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/graft-ml/graft/internal/exprgraph"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// tracer walks expression graphs from their outputs and adds the corresponding nodes to a graph under edit. Graphs of
// the same function at several sizes are walked in parallel: a number that differs between them depends on a symbol.
type tracer struct {
	e       *Edit
	rules   map[string]TraceRule
	names   map[*gorgonia.Node]string
	points  []map[string]int // sizes of the symbols, one map for each number of a size
	samples int              // graphs walked in parallel: one for each point, or 1 if nodes have symbols

	done    map[*gorgonia.Node][]traced
	calls   map[*op.Call][]*Value
	lengths map[string]*Value // one-element shape vectors, by size
	shapes  map[*Value]*Value // Shape of a value
	sources []measured
	missing map[string]bool
	free    []*Value // parameters that are not constants
	modeled bool     // the parameters are those of a graph and have their roles
	consts  int
	bodies  *int      // how many subgraphs were made from closures, for their names
	inner   []*tracer // of those subgraphs

	marks   map[*gorgonia.Node][]*traceMark
	made    map[*traceMark][]*Node // the nodes that marked nodes were translated to
	anchors map[*Node]bool
	order   []*traceMark
	site    *Site // being translated
	claimed int   // number of the graph's nodes whose site is known

	results map[*gorgonia.Node]int // how often the function returns a node

	roll   bool                      // slices of single indices become Gather, see Tracer.Roll
	step   bool                      // a training step is traced, see Graph.Derive
	wanted map[*op.Call]map[int]bool // outputs of calls that are read, in a step
}

// traced is a place in the expression graphs and the value it became.
type traced struct {
	at gorgonia.Nodes
	v  *Value
}

// measured is a value from whose dimensions shapes may be computed.
type measured struct {
	v     *Value
	shape []size
}

// size is a number that may depend on symbols: its values at the sample points.
type size []int

func (s size) constant() bool {
	for _, n := range s {
		if n != s[0] {
			return false
		}
	}
	return true
}

func (s size) is(n int) bool { return s.constant() && s[0] == n }

func newTracer(e *Edit, tr Tracer) *tracer {
	t := &tracer{
		e: e, rules: stockRules(), names: tr.Names, roll: tr.Roll, points: []map[string]int{{}}, samples: 1,
		done: map[*gorgonia.Node][]traced{}, calls: map[*op.Call][]*Value{},
		lengths: map[string]*Value{}, shapes: map[*Value]*Value{}, missing: map[string]bool{}, bodies: new(int), claimed: len(e.g.nodes()),
		marks: map[*gorgonia.Node][]*traceMark{}, made: map[*traceMark][]*Node{}, anchors: map[*Node]bool{},
		results: map[*gorgonia.Node]int{},
	}
	for name, r := range tr.Rules {
		t.rules[name] = r
	}
	return t
}

// input adds a graph input for the given nodes.
func (t *tracer) input(at gorgonia.Nodes, name string, typ op.Type) {
	if v := t.addInput(name, typ); v != nil {
		t.bind(at, v)
	}
}

func (t *tracer) addInput(name string, typ op.Type) *Value {
	if t.e.err != nil {
		return nil
	}
	if name == "" {
		name = "input"
	}
	typ.Shape = slices.Clone(typ.Shape)
	for i, d := range typ.Shape {
		if d.Sym != "" {
			typ.Shape[i] = op.Sym(d.Sym)
		}
	}
	v := &Value{name: t.e.unique(name), typ: typ, input: true, graph: t.e.g}
	t.e.addValue(v)
	t.e.setInputs(append(slices.Clone(t.e.g.inputs), v), "add input "+v.name+" "+typ.String())
	return v
}

// bind records the value that nodes were translated to.
func (t *tracer) bind(at gorgonia.Nodes, v *Value) {
	t.done[at[0]] = append(t.done[at[0]], traced{at, v})
	if v.param != nil {
		return
	}
	if s := (&Site{t: t, at: at}).shapeOf(v); s != nil {
		t.sources = append(t.sources, measured{v, s})
	}
}

func (t *tracer) find(at gorgonia.Nodes) *Value {
	for _, d := range t.done[at[0]] {
		if slices.Equal(d.at, at) {
			return d.v
		}
	}
	return nil
}

// value returns what nodes compute, which is added to the graph on first use.
func (t *tracer) value(at gorgonia.Nodes) *Value {
	if t.e.err != nil || t.e.ended() {
		return nil
	}
	if v := t.find(at); v != nil {
		return v
	}
	s := &Site{t: t, at: at}
	t.claim()
	around := t.site
	t.site = s
	v := s.translate()
	t.claim()
	t.site = around
	if t.e.err != nil {
		return nil
	}
	if v == nil {
		s.Failf("its rule returned nothing")
		return nil
	}
	t.bind(at, v)
	return v
}

// translate adds the operator at a site.
func (s *Site) translate() *Value {
	base := s.at[0]
	if _, _, _, ok := op.CallOf(base); ok {
		if r := s.t.rules[s.goType()]; r != nil {
			return r(s)
		}
		return s.ours()
	}
	if base.Op() == nil {
		return s.leaf()
	}
	if c, ok := base.Op().(interface{ Value() gorgonia.Value }); ok {
		return s.constant(c.Value())
	}
	for _, n := range s.at[1:] {
		if a, b := goType(base), goType(n); a != b || len(exprgraph.Children(base)) != len(exprgraph.Children(n)) {
			s.Failf("what is computed depends on a symbol: %s at one size, %s at another", a, b)
			return nil
		}
	}
	if name, ok := presetValue(base); ok {
		s.Failf("%s was computed in advance from a symbolic shape: lower with Keep", name)
		return nil
	}
	if base.Type() == nil {
		s.Failf("it is a statement, which has no value")
		return nil
	}
	r := s.t.rules[s.goType()]
	if r == nil {
		return s.Refuse("")
	}
	v := r(s)
	if v.source() != nil && s.t.e.g.outputs == nil {
		if name := s.t.nameOf(base); name != "" && s.t.e.g.values[name] == nil {
			s.t.e.RenameValue(v, name)
		}
	}
	return v
}

// leaf returns an input of the expression graph: a constant, a parameter or an input of the model.
func (s *Site) leaf() *Value {
	n := s.at[0]
	for _, o := range s.at[1:] {
		if o.Op() != nil || n.Value() == nil && len(s.t.done[n]) > 0 {
			s.Failf("what is computed depends on a symbol, or on how often the function was called")
			return nil
		}
	}
	if n.Value() == nil {
		s.Failf("the node has no value and is not an input of the function")
		return nil
	}
	if op.IsConst(n) {
		return s.constant(n.Value())
	}
	v, err := valueOf(n.Value())
	if err != nil {
		s.fail(err)
		return nil
	}
	for _, o := range s.at[1:] {
		if !slices.Equal([]int(n.Shape()), []int(o.Shape())) {
			s.Failf("the shape of the parameter depends on a symbol: %v and %v", n.Shape(), o.Shape())
			return nil
		}
	}
	if len(v.Shape()) == 0 || !dtype.Of(n.Dtype()).IsFloat() {
		return s.constant(n.Value())
	}
	name := s.t.nameOf(n)
	if name == "" {
		name = "param"
	}
	x := s.t.param(name, v)
	if x != nil && !s.t.modeled {
		s.t.free = append(s.t.free, x)
	}
	return x
}

// roles makes weights of the parameters that only Gorgonia's operators read, which do not declare the roles of their
// inputs.
func (t *tracer) roles() {
	ours := map[*Node]bool{}
	t.called(ours)
	weight := Weight
	for _, v := range t.free {
		if t.e.err == nil && v.readByGorgonia(ours) && v.param.data != nil && v.param.purpose() == Constant {
			t.e.setRole(v.param, &weight)
		}
	}
}

// called marks the nodes that our operators were translated to, also in subgraphs.
func (t *tracer) called(ours map[*Node]bool) {
	for _, out := range t.calls {
		for _, v := range out {
			if v != nil {
				ours[v.producer] = true
			}
		}
	}
	for _, s := range t.inner {
		s.called(ours)
	}
}

// readByGorgonia reports whether none of our operators reads v, directly or in a subgraph.
func (v *Value) readByGorgonia(ours map[*Node]bool) bool {
	for _, n := range v.users {
		if !ours[n] {
			continue
		}
		inside := n.inBodies(v, func(*Node, int) bool { return true })
		if len(inside) == 0 || slices.ContainsFunc(inside, func(x *Value) bool { return !x.readByGorgonia(ours) }) {
			return false
		}
	}
	return true
}

// param adds a tensor of numbers or strings under a unique name.
func (t *tracer) param(name string, v dtype.Value) *Value {
	if d, ok := v.(*tensor.Dense); ok {
		return t.e.Const(name, d)
	}
	text, ok := v.(*dtype.Strings)
	if !ok {
		t.e.Failf("%s is a %T, which no parameter can hold", name, v)
		return nil
	}
	p := &Param{text: text}
	x := &Value{name: t.e.unique(name), typ: op.TypeOf(text), param: p, graph: t.e.g}
	p.value = x
	t.e.addValue(x)
	return x
}

// constant adds a value that never changes. Integers that differ between sample points are computed from shapes, and so
// are numbers that equal a size or its inverse.
func (s *Site) constant(first gorgonia.Value) *Value {
	v, err := valueOf(first)
	if err != nil {
		s.fail(err)
		return nil
	}
	if len(s.at) > 1 {
		if x, differs := s.varying(); differs {
			return x
		}
	}
	name := s.t.nameOf(s.at[0])
	if name == "" || op.IsConst(s.at[0]) && s.t.names[s.at[0]] == "" {
		name = "const_" + strconv.Itoa(s.t.consts)
		s.t.consts++
	}
	return s.t.param(name, v)
}

// nameOf returns the name of a node, "" if it has none.
func (t *tracer) nameOf(n *gorgonia.Node) string {
	if name := t.names[n]; name != "" {
		return name
	}
	if c, _, i, ok := op.CallOf(n); ok {
		if c.Node == "" || i == 0 {
			return c.Node
		}
		return fmt.Sprintf("%s:%d", c.Node, i)
	}
	return strings.TrimPrefix(exprgraph.Name(n), "/")
}

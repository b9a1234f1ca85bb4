package nn

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/graft-ml/graft/internal/exprgraph"
	"github.com/graft-ml/graft/nn/op"
	"gorgonia.org/gorgonia"
)

// closure is what a function added to an expression graph, removed from it again: the body of a loop or a branch,
// which reads its own inputs and outer nodes.
type closure struct {
	formal   gorgonia.Nodes
	captured gorgonia.Nodes // outer nodes that it reads, in order of first use
	inner    gorgonia.Nodes // nodes that it added
	out      gorgonia.Nodes
}

// closure calls f on new inputs of the given types and makes a closure of the nodes that it adds to g.
func (tr Tracer) closure(what string, g *gorgonia.ExprGraph, types []op.Type, f func(gorgonia.Nodes) (gorgonia.Nodes, error)) (*Body, error) {
	c, err := enclose(g, types, f)
	if err != nil {
		return nil, controlError(what, err)
	}
	around := NewGraph("graph", tr.ops(), map[string]int{"": LatestOpset})
	t := newTracer(&Edit{g: around}, tr)
	outer := make([]*Value, len(c.captured))
	for i, n := range c.captured {
		outer[i] = &Value{name: fmt.Sprintf("captured_%d", i), typ: op.NodeType(n)}
	}
	b := t.body(strings.ToLower(what)+"_body", []*closure{c}, outer)
	t.finish()
	if t.e.err != nil {
		return nil, controlError(what, t.e.err)
	}
	b.made = c
	return b, nil
}

// enclose calls f and removes the nodes that it added from the graph, so that Gorgonia's machines do
// not run them, except nodes that hold a value, which are weights.
func enclose(g *gorgonia.ExprGraph, types []op.Type, f func(gorgonia.Nodes) (gorgonia.Nodes, error)) (*closure, error) {
	before := map[*gorgonia.Node]bool{}
	for _, n := range g.AllNodes() {
		before[n] = true
	}
	c := &closure{formal: make(gorgonia.Nodes, len(types))}
	for i, t := range types {
		var err error
		if c.formal[i], err = op.Formal(g, t); err != nil {
			return nil, err
		}
	}
	added := map[*gorgonia.Node]bool{}
	defer func() {
		for n := range added {
			g.RemoveNode(n)
		}
	}()
	var err error
	c.out, err = f(slices.Clone(c.formal))
	for _, n := range g.AllNodes() {
		if !before[n] && (slices.Contains(c.formal, n) || !holdsValue(n)) {
			added[n] = true
			c.inner = append(c.inner, n)
		}
	}
	if err != nil {
		return nil, err
	}
	for _, m := range marksOf(g) {
		if m.output != "" && added[m.nodes[0]] {
			return nil, fmt.Errorf("output %q is computed in the body of a subgraph: only a value outside of it can be an output", m.output)
		}
	}
	seen := map[*gorgonia.Node]bool{}
	for i, n := range c.out {
		if n = at(g, n); n.Graph() != g {
			return nil, errors.New("the function returns a node of another expression graph")
		}
		c.out[i] = n
		c.capture(n, added, seen)
	}
	return c, nil
}

// capture finds the outer nodes that n depends on. Constants are copied into the subgraph.
func (c *closure) capture(n *gorgonia.Node, inner, seen map[*gorgonia.Node]bool) {
	stack := gorgonia.Nodes{n}
	for len(stack) > 0 {
		n := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if seen[n] || slices.Contains(c.formal, n) {
			continue
		}
		seen[n] = true
		switch {
		case inner[n]:
			for _, k := range slices.Backward(exprgraph.Children(n)) {
				stack = append(stack, k)
			}
		case !isConstant(n):
			c.captured = append(c.captured, n)
		}
	}
}

// holdsValue reports whether the node is a weight or a constant.
func holdsValue(n *gorgonia.Node) bool {
	return len(exprgraph.Children(n)) == 0 && (isConstant(n) || n.Value() != nil)
}

// isConstant reports whether the node holds a value that never changes: one of Gorgonia's constants or of ours.
func isConstant(n *gorgonia.Node) bool {
	_, stock := n.Op().(interface{ Value() gorgonia.Value })
	return stock && len(exprgraph.Children(n)) == 0 || op.IsConst(n)
}

// at returns the node or, if it is a constant without a graph, its copy in g.
func at(g *gorgonia.ExprGraph, n *gorgonia.Node) *gorgonia.Node {
	if n.Graph() == nil && isConstant(n) {
		return g.AddNode(n)
	}
	return n
}

// body makes a subgraph of closures that are the same function at several sizes. outer are the values that they capture.
func (t *tracer) body(name string, list []*closure, outer []*Value) *Body {
	g := NewGraph(name, t.e.g.ops, t.e.g.opsets)
	b := NewBody(g, nil)
	e := &Edit{g: g, outer: t.e, prefix: name + "/", seed: t.e.seed, acts: t.e.acts}
	s := newTracer(e, Tracer{Rules: t.rules, Names: t.names})
	s.points, s.samples, s.missing, s.bodies = t.points, t.samples, t.missing, t.bodies
	s.marks, s.made, s.anchors = t.marks, t.made, t.anchors
	for i, n := range list[0].formal {
		at := closureNodes(list, func(c *closure) *gorgonia.Node { return c.formal[i] })
		s.input(at, "in", s.typeAt(at, op.NodeType(n).DType))
	}
	for i, v := range outer {
		x := &Value{name: e.unique(v.name), typ: v.typ, known: v.known, graph: g}
		if v.param != nil && v.param.data != nil && !v.typ.DType.IsFloat() { // floats may be trained
			x.known.Value = v.param.data
		}
		e.addValue(x)
		b.outer = append(b.outer, x)
		s.bind(closureNodes(list, func(c *closure) *gorgonia.Node { return c.captured[i] }), x)
	}
	out := make([]*Value, len(list[0].out))
	for i := range out {
		v := s.value(closureNodes(list, func(c *closure) *gorgonia.Node { return c.out[i] }))
		if v.source() == nil || slices.Contains(out, v) { // files require separate values for outputs
			v = do(e, op.Plain("Identity"), v)
		}
		out[i] = v
	}
	if e.err == nil {
		g.outputs = out
		e.sortNodes()
	}
	t.e.fail(e.err)
	t.inner = append(t.inner, s)
	return b
}

// typeAt returns the type of nodes that are the same at several sizes: a dimension that differs is the
// symbol with those sizes.
func (t *tracer) typeAt(at gorgonia.Nodes, d op.DType) op.Type {
	shape := (&Site{t: t, at: at}).shapeOf(nil)
	typ := op.Type{DType: d, Shape: make([]op.Dim, len(shape))}
	for i, x := range shape {
		typ.Shape[i] = op.Unknown()
		if x.constant() {
			typ.Shape[i] = op.D(x[0])
			continue
		}
		for s := range t.points[0] {
			if sym, ok := t.eval(op.Sym(s)); ok && slices.Equal(sym, x) && s[0] != '?' {
				typ.Shape[i] = op.Sym(s)
			}
		}
	}
	return typ
}

func closureNodes(list []*closure, pick func(*closure) *gorgonia.Node) gorgonia.Nodes {
	nodes := make(gorgonia.Nodes, len(list))
	for i, c := range list {
		nodes[i] = pick(c)
	}
	return nodes
}

// retraced returns the configuration of calls that are the same at several sizes, with subgraphs for
// all sizes in place of closures, and copies of those of another graph. captured are the values that the subgraphs read.
func (s *Site) retraced(calls []*op.Call, captured []*Value) op.Config {
	v := reflect.New(reflect.TypeOf(calls[0].Config)).Elem()
	v.Set(reflect.ValueOf(calls[0].Config))
	for i := range v.NumField() {
		if !v.Field(i).CanInterface() {
			continue
		}
		b, _ := v.Field(i).Interface().(*Body)
		if b == nil {
			continue
		}
		own := captured[:len(b.outer)]
		captured = captured[len(b.outer):]
		if b.made == nil {
			v.Field(i).Set(reflect.ValueOf(s.t.copied(b)))
			continue
		}
		list := make([]*closure, len(calls))
		for k, c := range calls {
			x, _ := reflect.ValueOf(c.Config).Field(i).Interface().(*Body)
			if x.made == nil || len(x.made.captured) != len(own) || len(x.made.out) != len(b.made.out) {
				s.Failf("what a subgraph computes depends on a symbol")
				return calls[0].Config
			}
			list[k] = x.made
		}
		*s.t.bodies++
		name := fmt.Sprintf("%s_%d_%s", strings.ToLower(calls[0].Op.Name), *s.t.bodies, strings.ToLower(v.Type().Field(i).Name))
		if made := s.t.body(name, list, own); s.t.e.err == nil {
			v.Field(i).Set(reflect.ValueOf(made))
		}
	}
	return v.Interface().(op.Config)
}

// copied returns a copy of a subgraph of another graph, in the operator set of this one. It shares its tensors.
func (t *tracer) copied(b *Body) *Body {
	c, of := newCopier(true), b.Graph.around.Load()
	if of == nil || identity(of.opsets) != identity(b.Graph.opsets) { // of a function, with versions of its own
		return c.body(b.Graph, b)
	}
	c.opsets[identity(of.opsets)] = t.e.g.opsets
	x := c.body(b.Graph, b)
	if from := of.opset(""); from != t.e.Opset() {
		t.e.convertBody(x, from)
	}
	return x
}

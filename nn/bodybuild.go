package nn

import "github.com/graft-ml/graft/nn/op"

// Body makes a subgraph, to be used as an attribute of an If, Loop or Scan that is then added with Node. inputs are the
// types of its inputs, such as "float32[N,4]"; captured are values of this graph that it reads, which are not inputs of
// the node. f adds its nodes, in an edit of the subgraph: it gets the inputs, followed by the placeholders for the
// captured values, and returns the outputs. Parameters that f adds are parameters of the whole graph, which the subgraph captures;
// constants are in the subgraph.
func (e *Edit) Body(name string, inputs []string, captured []*Value, f func(e *Edit, in ...*Value) []*Value) *Body {
	if e.err != nil {
		return nil
	}
	if f == nil {
		e.fail(errNoFunction)
		return nil
	}
	g := NewGraph(name, e.g.ops, e.g.opsets)
	b := NewBody(g, nil)
	sub := &Edit{g: g, outer: e, body: b, seed: e.seed, acts: e.acts}
	var in []*Value
	for i, text := range inputs {
		t, err := op.ParseType(text)
		if err != nil {
			e.fail(err)
			return nil
		}
		in = append(in, sub.input(sub.inner(name+"_in", i), t))
	}
	for _, v := range captured {
		if !e.mine(v) {
			return nil
		}
		in = append(in, sub.capture(v))
	}
	if e.bodies == nil {
		e.bodies = e.g.scopedBodies()
	}
	e.bodies = append(e.bodies, b)
	out := f(sub, in...)
	for _, v := range out {
		if sub.err == nil && !sub.mine(v) {
			break
		}
	}
	if sub.err == nil {
		g.outputs = out
		sub.sortNodes()
	}
	e.fail(sub.err)
	if e.err != nil {
		return nil
	}
	return b
}

// capture makes the subgraph that is built read v, a value of the graph around it, and returns the placeholder.
func (e *Edit) capture(v *Value) *Value {
	x := &Value{name: v.name, typ: v.typ, known: v.known, graph: e.g, untyped: !v.typ.Present()}
	if v.param != nil && v.param.data != nil && !v.typ.DType.IsFloat() { // floats may be trained
		x.known.Value = v.param.data
	}
	e.addValue(x)
	e.body.outer, e.body.captured = append(e.body.outer, x), append(e.body.captured, v)
	return x
}

// inner returns a name that is used neither in this graph nor in the graphs around it.
func (e *Edit) inner(base string, i int) string {
	name := base
	for e.g.has(name) || e.outer.knows(name) {
		name = e.New(base) + "_" + string(rune('a'+i%26))
		base += "_"
	}
	return name
}

package nn

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
)

// Extract returns a copy of the part of the graph that computes the values to from the values from, which become its
// outputs and inputs; an empty from means the graph's own inputs. Parameters are copied. A value in from may be an input,
// a parameter or computed. It is an error if the part needs an input that is not in from, or does not need one that is.
func (g *Graph) Extract(from, to []string) (*Graph, error) {
	return g.ExtractUntil(context.Background(), from, to)
}

// ExtractUntil is Extract, ended by ctx, with its error.
func (g *Graph) ExtractUntil(ctx context.Context, from, to []string) (*Graph, error) {
	w, err := begun(ctx)
	if err != nil {
		return nil, &Error{Stage: "extract", Err: err}
	}
	if err := g.edited("extract"); err != nil {
		return nil, err
	}
	defer g.locked().unlock()
	if len(from) == 0 {
		from = names(g.inputs)
	}
	ins, err := g.distinct(from)
	if err != nil {
		return nil, err
	}
	outs, err := g.distinct(to)
	if err != nil {
		return nil, err
	}
	if len(outs) == 0 {
		return nil, &Error{Stage: "extract", Err: errors.New("no output is named")}
	}
	stop := func(v *Value) bool { return w.ended() || slices.Contains(ins, v) }
	nodes := ancestors(outs, stop)
	if w != nil && w.err != nil {
		return nil, &Error{Stage: "extract", Err: w.err}
	}
	if err := cutCheck(nodes, ins, outs, stop); err != nil {
		return nil, err
	}
	return g.part(w, nodes, ins, outs)
}

// distinct finds values by name and refuses one named twice.
func (g *Graph) distinct(list []string) ([]*Value, error) {
	var out []*Value
	for _, name := range list {
		v, err := g.value(name)
		if err != nil {
			return nil, located("extract", &Node{}, err)
		}
		if slices.Contains(out, v) {
			return nil, &Error{Stage: "extract", Err: fmt.Errorf("%q is named twice", name)}
		}
		out = append(out, v)
	}
	return out, nil
}

// cutCheck reports whether the values ins cut nodes and outs off from every other input.
func cutCheck(nodes []*Node, ins, outs []*Value, stop func(*Value) bool) error {
	read := map[*Value]bool{}
	for _, v := range outs {
		read[v] = true
	}
	for _, n := range nodes {
		for _, v := range n.reads() {
			if v != nil {
				read[v] = true
			}
		}
	}
	for v := range read {
		if v.param == nil && v.producer == nil && !stop(v) {
			return &Error{Stage: "extract", Err: fmt.Errorf("%v also depend on input %q: name it, or a value computed from it", names(outs), v.name)}
		}
	}
	for _, v := range ins {
		if !read[v] {
			return &Error{Stage: "extract", Err: fmt.Errorf("%v do not depend on %q", names(outs), v.name)}
		}
	}
	return nil
}

// part copies nodes into a graph with the given ends.
func (g *Graph) part(w *watch, nodes []*Node, ins, outs []*Value) (*Graph, error) {
	c := newCopier(false)
	c.watch = w
	to := c.shell(g, g.ops, maps.Clone(g.opsets))
	for _, v := range ins {
		if !v.typ.Present() {
			return nil, &Error{Stage: "extract", Input: v.name, Err: errors.New("its type is not known, so it cannot become an input")}
		}
		x := &Value{name: v.name, typ: v.typ, input: true, graph: to, origin: v.origin}
		c.values[v], to.values[x.name] = x, x
	}
	for _, n := range nodes {
		for _, v := range n.out {
			if v != nil && slices.Contains(ins, v) { // another output of the node is wanted
				return nil, &Error{Stage: "extract", Node: n.label(), Op: n.opType, Err: fmt.Errorf("computes %q, which is to become an input, and another output that is needed", v.name)}
			}
		}
		if c.ended() {
			return nil, &Error{Stage: "extract", Err: c.err}
		}
		c.node(to, n)
	}
	for _, v := range outs {
		c.value(to, v) // parameters
	}
	to.inputs, to.outputs = c.list(ins), c.list(outs)
	if c.err != nil {
		return nil, c.err
	}
	if err := to.inferUntil(w.context()); err != nil {
		return nil, err
	}
	return to, to.check(w)
}

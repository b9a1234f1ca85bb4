package nn

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/graft-ml/graft/nn/op"
	"gorgonia.org/gorgonia"
)

// nested traces a subgraph, lowered and differentiated at all sample points, as the body of another node.
type nested struct {
	t    *tracer // of the graph around
	sub  *Edit   // of the body
	body *Body

	types [][]op.Type  // of the formal inputs, by sample
	known [][]op.Known // of the formal inputs, by sample
	train bool
	asked func(i int) bool // whether the gradient with respect to a formal input is needed
}

// sampled is the subgraph at one sample point.
type sampled struct{ in, out, seeds, grads gorgonia.Nodes }

// lower lowers the subgraph at sample k as Derive does: nothing is folded.
func (x *nested) lower(k int, g *gorgonia.ExprGraph) (*sampled, error) {
	b := x.body
	ctx, stop := folding(x.sub.watched().context())
	defer stop()
	bound, err := b.bind(x.types[k], x.known[k])
	if err != nil {
		return nil, err
	}
	formal := b.formal()
	ask := lowering{g: b.Graph, mode: walkTrace, train: x.train, expr: g, ctx: ctx, bound: bound}
	s := &sampled{in: make(gorgonia.Nodes, len(formal))}
	for i, v := range formal {
		if x.asked(i) {
			ask.asked = append(ask.asked, v)
		}
		if s.in[i], err = op.Input(g, fmt.Sprintf("input %d", i), x.types[k][i], nil); err != nil {
			return nil, err
		}
		bound[v].node = s.in[i]
	}
	w, err := ask.lower()
	if err != nil {
		return nil, err
	}
	if w.key != nil {
		return nil, errors.New("its subgraph draws random numbers")
	}
	for _, v := range b.Graph.outputs {
		n, err := w.nodeOf(v)
		if err != nil {
			return nil, err
		}
		s.out = append(s.out, n)
	}
	return s, nil
}

// differentiate adds gradients with respect to the formal inputs, given those of the outputs that have one.
func (x *nested) differentiate(k int, g *gorgonia.ExprGraph, s *sampled, given []*Value) error {
	s.seeds, s.grads = make(gorgonia.Nodes, len(s.out)), make(gorgonia.Nodes, len(s.in))
	var from, seeds, wrt gorgonia.Nodes
	var at []int
	for i, n := range s.in {
		if op.Differentiable(x.types[k][i]) && x.asked(i) {
			wrt, at = append(wrt, n), append(at, i)
		}
	}
	for i, y := range s.out {
		if given[i] == nil {
			continue
		}
		n, err := x.t.e.g.ops.Apply1(op.Plain("Identity"), y) // outputs may be inputs, or equal to one another
		if err != nil {
			return err
		}
		if err := op.CheckGradients(x.sub.watched().context(), gorgonia.Nodes{n}, wrt); err != nil {
			return err
		}
		d, err := op.Input(g, fmt.Sprintf("gradient %d", i), op.NodeType(y), nil)
		if err != nil {
			return err
		}
		s.seeds[i], from, seeds = d, append(from, n), append(seeds, d)
	}
	grads, err := gradients(x.sub.watched().context(), from, seeds, wrt)
	if err != nil {
		return err
	}
	for j, i := range at {
		s.grads[i] = grads[j]
	}
	return nil
}

// trace adds the subgraph to the body and returns its outputs or, with seeds, the gradients of its inputs, nil for those
// without one. Errors while it is added are the edit's.
func (x *nested) trace(args, seeds []*Value) ([]*Value, error) {
	if x.sub.err != nil {
		return nil, nil
	}
	var all []*sampled
	for k := range x.t.samples {
		g := gorgonia.NewGraph()
		s, err := x.lower(k, g)
		if err != nil {
			return nil, err
		}
		if seeds != nil {
			if err := x.differentiate(k, g, s, seeds); err != nil {
				return nil, err
			}
		}
		all = append(all, s)
	}
	t := newTracer(x.sub, Tracer{})
	t.points, t.samples, t.step, t.missing = x.t.points, x.t.samples, true, x.t.missing
	column := func(pick func(s *sampled) *gorgonia.Node) gorgonia.Nodes {
		var list gorgonia.Nodes
		for _, s := range all {
			n := pick(s)
			if n == nil {
				return nil
			}
			list = append(list, n)
		}
		return list
	}
	want := func(s *sampled) gorgonia.Nodes { return s.out }
	if seeds != nil {
		want = func(s *sampled) gorgonia.Nodes { return s.grads }
	}
	t.wanted = wantedOutputs(want(all[0]))
	for i, v := range args {
		if v != nil {
			t.bind(column(func(s *sampled) *gorgonia.Node { return s.in[i] }), v)
		}
	}
	for i, v := range seeds {
		if at := column(func(s *sampled) *gorgonia.Node { return s.seeds[i] }); v != nil && at != nil {
			t.bind(at, v)
		}
	}
	list := make([]*Value, len(want(all[0])))
	for i := range list {
		if at := column(func(s *sampled) *gorgonia.Node { return want(s)[i] }); at != nil {
			list[i] = t.value(at)
		}
	}
	return list, nil
}

// bodyOf returns a subgraph for a node of the traced graph. It captures values; f adds its nodes, and at returns the
// stand-in of a captured value.
func (t *tracer) bodyOf(inputs []string, captured []*Value, f func(sub *Edit, in []*Value, at func(*Value) *Value) []*Value) *Body {
	var list []*Value
	for _, v := range captured {
		if v != nil && !slices.Contains(list, v) {
			list = append(list, v)
		}
	}
	t.consts++
	prefix := t.e.New(fmt.Sprintf("body_%d", t.consts))
	return t.e.Body(prefix, inputs, list, func(sub *Edit, in ...*Value) []*Value {
		inside := map[*Value]*Value{}
		for i, v := range list {
			inside[v] = in[len(inputs)+i]
		}
		out := f(sub, in[:len(inputs)], func(v *Value) *Value { return inside[v] })
		for i, v := range out { // an output must be neither an input nor another output
			out[i] = do(sub, op.Plain("Identity"), v)
		}
		if sub.err != nil {
			return nil
		}
		stand := map[*Value]bool{}
		for _, v := range in[len(inputs):] {
			stand[v] = true
		}
		for _, name := range slices.Sorted(maps.Keys(sub.g.values)) { // names must be unique in a graph and all graphs around it
			if v := sub.g.values[name]; v != nil && !stand[v] && sub.err == nil {
				sub.RenameValue(v, prefix+"/"+name)
			}
		}
		return out
	})
}

// do adds a node and returns its first output.
func do(e *Edit, c op.Config, in ...*Value) *Value {
	if e.err != nil {
		return nil
	}
	return e.Node(c, in...).output(0)
}

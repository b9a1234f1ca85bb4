package nn

import (
	"fmt"
	"maps"
	"slices"

	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/std"
)

// InlineBranches replaces each If whose condition is known before the graph runs (from constants or from sizes) by the
// nodes of the branch that is taken, and returns how many were replaced. Nodes with annotations and nodes in subgraphs
// are not replaced.
func (e *Edit) InlineBranches() int {
	e.made()
	count := 0
	for {
		n := e.inlineKnown()
		if count += n; n == 0 {
			return count
		}
	}
}

// inlineKnown is one pass of InlineBranches: the nodes of a branch may have known conditions afterwards.
func (e *Edit) inlineKnown() (count int) {
	if e.err == nil {
		e.arrangeNow()
	}
	if e.err != nil {
		return 0
	}
	for _, n := range slices.Clone(e.g.nodes()) {
		if len(n.in) == 0 || n.in[0] == nil || len(n.bodies()) == 0 || len(n.annotations) > 0 || e.err != nil {
			continue
		}
		c := n.call()
		if c == nil {
			continue
		}
		if k := n.in[0].known; c.Known[0].Value == nil && k.Dims != nil {
			if d, ok := op.DimsValue(k.Dims, n.in[0].typ); ok {
				c.Known[0].Value = d
			}
		}
		branch, from := std.TakenBranch(c)
		if b, ok := branch.(*Body); ok && maps.Equal(b.Graph.opsets, e.g.opsets) {
			e.inline(n, b, nil, n.captured[from-len(n.in):])
			count++
		}
	}
	return count
}

// inlineCall replaces the call of a function of the model by the function's nodes.
func (e *Edit) inlineCall(n *Node) error {
	b := n.bodies()[0]
	if !maps.Equal(b.Graph.opsets, e.g.opsets) {
		for domain, version := range b.Graph.opsets {
			if v, ok := e.g.opsets[domain]; ok && v != version {
				return fmt.Errorf("the function is written for operator set %d of %q, the model for %d: convert the model first", version, domain, v)
			}
		}
	}
	if len(n.in) > len(b.Graph.inputs) {
		return fmt.Errorf("it has %d inputs, the function %d", len(n.in), len(b.Graph.inputs))
	}
	given := make([]*Value, len(b.Graph.inputs))
	copy(given, n.in)
	e.inline(n, b, given, n.captured)
	return nil
}

// inline moves the nodes of a subgraph out of n; they compute n's outputs. inputs are the inputs of
// the subgraph, nil for absent ones.
func (e *Edit) inline(n *Node, b *Body, inputs, captured []*Value) {
	inside := map[*Value]*Value{} // values outside for those of the subgraph
	absent := map[*Value]bool{}
	for i, v := range inputs {
		inside[b.Graph.inputs[i]], absent[b.Graph.inputs[i]] = v, v == nil
	}
	for i, v := range b.outer {
		inside[v] = captured[i]
	}
	given := make([]bool, len(n.out))
	for i, v := range n.out {
		if x := b.Graph.outputs[i]; v != nil && inside[x] == nil && x.producer != nil {
			inside[x], given[i] = v, true
		}
	}
	reads := n.reads()
	e.removeNode(n)
	for _, name := range slices.Sorted(maps.Keys(b.Graph.values)) {
		v := b.Graph.values[name]
		if inside[v] != nil || absent[v] {
			continue
		}
		x := &Value{name: e.free(v.name), typ: v.typ, known: v.known, graph: e.g, origin: v.origin}
		if v.param != nil {
			x.param = newCopier(true).param(v.param)
			x.param.value = x
		}
		inside[v] = x
		e.addValue(x)
	}
	list := func(values []*Value) []*Value {
		var out []*Value
		for _, v := range values {
			out = append(out, inside[v])
		}
		return out
	}
	for _, m := range b.Graph.nodes() {
		x := &Node{
			name: m.name, domain: m.domain, opType: m.opType, doc: m.doc, op: m.op, config: m.config, graph: e.g,
			origin: m.origin, fresh: m.fresh, annotations: m.annotations, in: list(m.in), captured: list(m.captured),
		}
		e.addNode(x)
		e.setOut(x, list(m.out))
	}
	for i, v := range n.out {
		if v != nil && !given[i] {
			x := do(e, op.Plain("Identity"), inside[b.Graph.outputs[i]])
			if e.err != nil {
				return
			}
			p := x.producer
			e.setOut(p, []*Value{v})
			e.removeValue(x)
		}
	}
	for _, v := range reads {
		e.sweep(v)
	}
}

// free returns the name, with a number appended if it is taken.
func (e *Edit) free(name string) string {
	if e.g.values[name] == nil {
		return name
	}
	return e.unique(name)
}

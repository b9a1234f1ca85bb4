package nn

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/graft-ml/graft/nn/op"
	"gorgonia.org/gorgonia"
)

// Decompose replaces nodes by nodes of other operators: an ONNX function as the standard defines it, an operator of
// another domain by standard operators, a call of a function of the model by the function's nodes. The outputs keep
// their names and stay the same values; names of new inner values begin with that of the node. The edit fails if an
// operator has no decomposition, or if a length that shapes depend on is an input of the model rather than a constant.
func (e *Edit) Decompose(nodes ...*Node) {
	if e.made(); e.err != nil {
		return
	}
	e.arrangeNow() // once: the values that nodes read stay, with their types
	for _, n := range nodes {
		e.decompose(n)
	}
}

func (e *Edit) decompose(n *Node) {
	if !e.has(n) {
		return
	}
	var err error
	switch {
	case n.op == nil:
		err = errors.New("the operator is not known")
	case n.op.Traits.Call && len(n.bodies()) == 1:
		err = e.inlineCall(n)
	case n.op.Decompose != nil && n.op.Domain != op.Internal:
		err = e.decomposeSpelled(n)
	case n.op.Lower != nil && len(n.bodies()) == 0:
		err = e.decomposeLowered(n)
	default:
		err = errors.New("it is not made of other operators")
	}
	if err != nil && e.err == nil {
		e.fail(&Error{Stage: "decompose", Op: n.opType, Node: n.label(), Err: err})
	}
}

// arrangeNow sorts the nodes and infers types, if changes have postponed that.
func (e *Edit) arrangeNow() {
	if e.sortNodes(); e.err == nil {
		e.fail(e.infer())
	}
}

// decomposeSpelled applies the decomposition that the operator declares.
func (e *Edit) decomposeSpelled(n *Node) error {
	s := e.speller(n.label())
	p := &op.Part{Config: n.config, In: s.list(n.in), Out: s.list(n.out)}
	parts, err := e.g.ops.Decompose(p, e.opsetOf(n.domain), e.opsetOf)
	if err != nil {
		return err
	}
	reads := n.reads()
	e.removeNode(n)
	for _, q := range parts {
		s.add("", q, nil)
	}
	for _, v := range reads {
		e.sweep(v)
	}
	return e.err
}

// decomposeLowered traces the expression that the operator is lowered to.
func (e *Edit) decomposeLowered(n *Node) error {
	alone := NewGraph(n.label(), e.g.ops, e.g.opsets)
	x := &nested{sub: e, body: NewBody(alone, nil), asked: func(int) bool { return true }}
	inner := &Node{name: n.name, domain: n.domain, opType: n.opType, op: n.op, config: n.config, graph: alone}
	of, args := map[*Value]*Value{}, []*Value{}
	for i, v := range n.in {
		if v != nil && of[v] == nil {
			of[v] = &Value{name: fmt.Sprintf("in %d", i), typ: v.typ, known: v.known, graph: alone, input: true}
			alone.add(of[v])
			alone.inputs, args = append(alone.inputs, of[v]), append(args, v)
		}
		inner.in = append(inner.in, of[v])
	}
	var gave []*Value
	var out []*Value
	for i, v := range n.out {
		if v == nil {
			out = append(out, nil)
			continue
		}
		y := &Value{name: fmt.Sprintf("out %d", i), typ: v.typ, graph: alone}
		alone.add(y)
		out, gave, alone.outputs = append(out, y), append(gave, v), append(alone.outputs, y)
	}
	inner.give(out)
	alone.listNode(inner)
	inner.useAll()

	points, err := x.sampled(args)
	if err != nil {
		return err
	}
	x.t = newTracer(e, Tracer{})
	x.t.points, x.t.samples = points, len(points)
	before := len(e.g.nodes())
	values, err := x.trace(args, nil)
	switch {
	case err != nil:
		return err
	case e.err != nil:
		return e.err
	case len(x.t.missing) > 0:
		return fmt.Errorf("it is made of operators that have no ONNX form: %v", slices.Sorted(maps.Keys(x.t.missing)))
	}
	added := e.g.nodes()[before:]
	e.take(n, gave, values, added)
	e.nameAfter(n.label(), slices.Concat(args, gave), added)
	for _, v := range n.reads() {
		e.sweep(v)
	}
	return e.err
}

// sampled chooses sizes for the open dimensions of the arguments, and returns the inputs at each choice.
func (x *nested) sampled(args []*Value) ([]map[string]int, error) {
	names, bad := openSizes(args)
	if bad != nil {
		return nil, bad
	}
	var last error
	for _, scale := range []int{1, 4, 32} {
		points := samplePoints(names, scale)
		x.types, x.known, last = nil, nil, nil
		for k, at := range points {
			types, known := make([]op.Type, len(args)), make([]op.Known, len(args))
			for i, v := range args {
				t, err := concrete(v.typ, i, at)
				if err != nil {
					return nil, &Error{Input: v.name, Err: err}
				}
				types[i] = t
				if p := v.param; p != nil && p.data != nil && !v.input && !v.typ.DType.IsFloat() {
					known[i].Value = p.data
				} else {
					known[i] = v.known
				}
			}
			x.types, x.known = append(x.types, types), append(x.known, known)
			if _, last = x.lower(k, gorgonia.NewGraph()); last != nil {
				break
			}
		}
		if last == nil || len(names) == 0 {
			return points, last
		}
	}
	return nil, last
}

// take makes the values that n computed outputs of the nodes that replace it; values are the results of the trace.
func (e *Edit) take(n *Node, gave, values []*Value, added []*Node) {
	if e.err != nil {
		return
	}
	e.removeNode(n)
	taken := map[*Value]*Value{}
	for i, v := range gave {
		w := values[i]
		m := w.producer
		if m == nil || taken[w] != nil || !slices.Contains(added, m) {
			if taken[w] != nil {
				w = taken[w]
			}
			w = do(e, op.Plain("Identity"), w)
			if e.err != nil {
				return
			}
			m = w.producer
		}
		out := slices.Clone(m.out)
		out[w.index] = v
		users := slices.Clone(w.users)
		e.setOut(m, out)
		e.rewire(w, v, users)
		e.removeValue(w)
		taken[values[i]] = v
	}
}

// nameAfter renames the added nodes and values so that their names begin with label, except for values of before.
func (e *Edit) nameAfter(label string, before []*Value, added []*Node) {
	for _, n := range added {
		for _, v := range slices.Concat(n.in, n.out) {
			made := v != nil && (slices.Contains(added, v.producer) || v.param != nil)
			if made && !slices.Contains(before, v) && !slices.ContainsFunc(v.users, func(u *Node) bool { return !slices.Contains(added, u) }) {
				e.RenameValue(v, e.unique(label+"."+v.name))
				before = append(slices.Clip(before), v)
			}
		}
	}
}

package nn

import (
	"slices"

	"github.com/graft-ml/graft/nn/op"
	"gorgonia.org/gorgonia"
)

// Exporters spell layer normalization, GELU or attention out as a dozen small operators. In a
// lowering that is only run, such a group becomes one operator with its own kernel and gradient;
// the graph keeps its nodes, which Lower, Trace and Save see.
//
// This relies on late emission: the walk infers the types of every node, but adds it to the expression graph only when
// something reads it. When the last node of a group is visited, everything that the rules of the graph's set
// (op.Set.Rewrites) depend on is known; if one matches, the inner nodes are never emitted.

// fuser finds the groups of one lowering.
type fuser struct {
	live  map[*Node]bool            // the nodes of this lowering
	keep  map[*Value]bool           // requested values, which must not be inside a group
	rules map[op.Name][]*op.Rewrite // rules of the graph's set, by the operator of the last node
}

// newFuser prepares for a walk over nodes; keep lists the values that must be computed.
func newFuser(rules []op.Rewrite, nodes []*Node, keep ...[]*Value) *fuser {
	f := &fuser{live: make(map[*Node]bool, len(nodes)), keep: map[*Value]bool{}, rules: map[op.Name][]*op.Rewrite{}}
	for _, n := range nodes {
		f.live[n] = true
	}
	for _, v := range slices.Concat(keep...) {
		f.keep[v] = true
	}
	for i := range rules {
		for _, root := range rules[i].Pattern.Roots() {
			f.rules[root] = append(f.rules[root], &rules[i])
		}
	}
	return f
}

// postpone binds the outputs of a node that will be emitted when they are read: as part of the
// group that ends in it, or as a single node.
func (w *walker) postpone(n *Node, c *op.Call, in []*Value, known []op.Known) {
	w.bind(n, c, known, nil)
	e := &emission{reads: in, emit: func() error { return w.emit(n, c, in, known) }}
	if call, f := w.fuse(n, c); call != nil {
		e = &emission{emit: func() error { return w.emitFused(n, c, known, call, f) }}
		for _, x := range f.In {
			if v, ok := x.Ref.(*Value); ok {
				e.reads = append(e.reads, v)
			}
		}
	}
	for _, v := range n.out {
		if v != nil && !w.isGiven(v) {
			w.env[v].late = e
		}
	}
}

// emission is what adds a postponed node, or group, to the expression graph.
type emission struct {
	reads []*Value     // in this order
	done  int          // how many of them have their nodes
	emit  func() error // binds the outputs anew
}

// emitLate emits e after all that it reads. Chains of postponed nodes are as long as the graph, too long for recursion.
func (w *walker) emitLate(e *emission) error {
	for stack := []*emission{e}; len(stack) > 0; {
		e := stack[len(stack)-1]
		if err := w.ended(); err != nil {
			return err
		}
		if next := w.lateRead(e); next != nil {
			stack = append(stack, next)
			continue
		}
		stack = stack[:len(stack)-1]
		if err := e.emit(); err != nil {
			return err
		}
	}
	return nil
}

// lateRead makes the nodes of what e reads up to the first that is postponed itself, and returns the emission of that.
func (w *walker) lateRead(e *emission) *emission {
	for e.done < len(e.reads) {
		v := e.reads[e.done]
		e.done++
		if v == nil {
			continue
		}
		if b := w.at(v); b != nil && b.late != nil {
			return b.late
		}
		if _, err := w.nodeOf(v); err != nil {
			break // emit returns it, with its place
		}
	}
	return nil
}

// postponable reports whether the emission of a node may be postponed: nodes that change state or draw random
// numbers are emitted in the order of the graph.
func postponable(c *op.Call) bool { return !c.Op.Random && (c.Op.State == nil || !c.Train) }

// fuse returns the call of the operator that replaces the group ending in n; nil if there is none.
func (w *walker) fuse(n *Node, c *op.Call) (*op.Call, *op.Replacement) {
	if len(n.out) != 1 || n.out[0] == nil {
		return nil, nil
	}
	for _, r := range w.fuser.rules[c.Op.Operator()] {
		m := &matching{w: w, root: n}
		f := m.try(r)
		if f == nil {
			continue
		}
		if call := w.fusedCall(c, f); call != nil {
			return call, f
		}
	}
	return nil, nil
}

// fusedCall infers the fused operator, whose type must equal that of the group.
func (w *walker) fusedCall(c *op.Call, f *op.Replacement) *op.Call {
	types := make([]op.Type, len(f.In))
	for i, x := range f.In {
		types[i] = x.Type
	}
	call, err := w.g.ops.NewCall(f.Config, types...)
	if err != nil {
		return nil // the graph's set lacks the operator, or replaces it by another
	}
	call.Node, call.Opset, call.Train, call.Stream = c.Node, c.Opset, c.Train, c.Stream
	if call.Resolve() != nil {
		return nil // the operator does not accept the inputs: the nodes remain
	}
	got, want := call.Out[0], c.Out[0]
	if got.DType != want.DType || !slices.Equal(got.Sizes(), want.Sizes()) {
		return nil
	}
	call.Out[0] = want // with the symbols of the group's type
	return call
}

func (w *walker) emitFused(n *Node, c *op.Call, known []op.Known, call *op.Call, f *op.Replacement) error {
	in := make(gorgonia.Nodes, len(f.In))
	for i, x := range f.In {
		var err error
		if v, ok := x.Ref.(*Value); ok {
			in[i], err = w.nodeOf(v)
		} else if x.Present() {
			in[i], err = op.Const(w.expr, x.Known.Value)
		}
		if err != nil {
			return located("lower", n, err)
		}
	}
	out, err := op.Emit(w.expr, call, in)
	if err != nil {
		return located("lower", n, err)
	}
	w.bind(n, c, known, out)
	return nil
}

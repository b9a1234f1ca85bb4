package nn

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/std"
	"gorgonia.org/gorgonia"
)

// pass is one step of a lowering.
type pass struct {
	name     string
	requires string
	ensures  string
	run      func(w *walker) error
}

// passes are what a graph goes through to become something that runs, in this order. Lower, runs, their stages and gradients,
// the bodies of If, Loop and Scan, a Gradient node and type inference are this list with another lowering in front of it: a pass
// that a lowering does not ask for does nothing. Compiling follows when a program is taken of the result, see programs.take:
// the engine puts calls together (engine.Compile, op.Set.Fusions), plans memory and makes the steps.
func passes() []pass {
	return []pass{
		{"plan", "a graph; what is bound before, what is wanted and differentiated for", "nodes in topological order, without those whose results are at hand; the groups among them", (*walker).plan},
		{"emit", "nodes", "types of every value; of each an expression node, a constant or how to emit it, or the node waits for a value that only a run gives", (*walker).emitNodes},
		{"collect", "values bound", "a node or a known value for all that is wanted, and in a stage that is not the last for what later ones read", (*walker).collect},
		{"narrow", "nodes of what is wanted", "rows that nobody reads are not computed, parts of attention are read where they lie", (*walker).narrow},
		{"differentiate", "nodes of what is differentiated, and no node that waits", "a node of every gradient that there is; an error where one goes through what has none", (*walker).differentiate},
	}
}

// lowering says what a graph is lowered for.
type lowering struct {
	g     *Graph
	mode  walkMode
	train bool
	ctx   context.Context // ends what is computed at once

	bound map[*Value]*binding    // what is known before
	have  map[*Value]dtype.Value // values at hand: what was fed and what earlier stages computed
	want  []*Value               // values to compute; nil: every node of the graph is gone through
	wrt   []*Value               // what is differentiated for: not folded, even if it looks constant
	asked []*Value               // those of them that the caller named; nil: all
	of    []*Value               // what is differentiated
	seeds map[*Value]dtype.Value // their gradients; missing: ones
	loss  bool                   // it is a loss: one floating-point element

	stages bool // nodes may wait for values that only a run gives
	groups bool // groups of nodes run as one, and rows that nobody reads are not computed
	shown  bool // its nodes are for the caller to read
	still  bool // only types are wanted: subgraphs are not run for them
	strict bool // what gradients go straight through is refused: that is a rule of running
	calls  bool // the calls of the nodes that resolved are kept

	expr     *gorgonia.ExprGraph            // where nodes are emitted; nil: a graph of its own
	outerKey func() (*gorgonia.Node, error) // random key of the graph around a subgraph
	suffix   string                         // keeps names of subgraphs apart from those around them
}

// lower takes the graph through the passes. The walker holds what came of it, up to the error if there is one.
func (l lowering) lower() (*walker, error) {
	w := l.walker()
	for _, p := range passes() {
		if err := p.run(w); err != nil {
			if l.ctx != nil && errors.Is(context.Cause(l.ctx), errFolding) {
				err = &Error{Stage: "lower", Err: errFolding}
			}
			return w, err
		}
	}
	return w, nil
}

// walker is the state before the first pass.
func (l lowering) walker() *walker {
	if l.expr == nil && l.mode != walkInfer {
		l.expr = gorgonia.NewGraph(gorgonia.WithGraphName(l.g.name))
	}
	w := &walker{
		lowering: l, env: l.bound, params: map[*Param]*gorgonia.Node{},
		spec: map[*Value]dtype.Value{}, baked: map[*Param]uint64{},
		waiting: map[*Node]bool{}, demanded: map[*Value]error{},
		lost: map[*Value]error{}, lostNodes: map[*gorgonia.Node]error{},
		wanted: map[*Value]*gorgonia.Node{}, values: map[*Value]dtype.Value{},
	}
	if w.env == nil {
		w.env = map[*Value]*binding{}
	}
	if l.calls {
		w.called = make(map[*Node]*op.Call, len(l.g.nodes))
	}
	if w.influenced = l.g.influenced(l.wrt); l.asked != nil {
		if w.influenced = l.g.influenced(l.asked); w.influenced == nil {
			w.influenced = map[*Value]bool{}
		}
	}
	return w
}

// plan finds the nodes to go through.
func (w *walker) plan() error {
	want := slices.Concat(w.want, w.of)
	if w.want == nil && w.of == nil {
		w.nodes = w.g.nodes
	} else {
		at := func(v *Value) bool { return v == nil || w.env[v] != nil }
		w.nodes = ancestors(want, at)
		w.nodes = slices.DeleteFunc(w.nodes, func(n *Node) bool { return !slices.ContainsFunc(n.out, func(v *Value) bool { return !at(v) }) })
	}
	if w.groups && !w.g.unfused && w.g.opset("") >= 7 { // before, sums and products had ways of their own to broadcast
		w.fuser = newFuser(w.g.ops.Rewrites(), w.nodes, want, w.wrt)
	}
	if w.strict {
		return w.straight(w.nodes)
	}
	return nil
}

// emitNodes visits the nodes.
func (w *walker) emitNodes() error {
	if err := w.visitAll(w.nodes); err != nil || w.mode == walkInfer {
		return err
	}
	if len(w.missing) > 0 {
		return unsupported(w.missing)
	}
	if len(w.deferred) > 0 && !w.stages {
		return w.deferredError()
	}
	return nil
}

func (w *walker) visitAll(nodes []*Node) error {
	for _, n := range nodes {
		if err := w.visit(n); err != nil {
			return err
		}
	}
	return nil
}

// collect makes sure that what is wanted is there.
func (w *walker) collect() error {
	if w.mode == walkInfer {
		return nil
	}
	need := slices.Concat(w.want, w.of)
	if len(w.deferred) > 0 {
		need = w.handOver(need)
		w.outs = need
	}
	for _, v := range need {
		if err := w.require(v); err != nil {
			return err
		}
	}
	return nil
}

// require makes sure the lowering yields v: by a node, or because its value is known.
func (w *walker) require(v *Value) error {
	b := w.at(v)
	if b == nil {
		return &Error{Stage: "lower", Input: v.name, Err: errors.New("is not computed")}
	}
	switch {
	case b.node == nil && b.late == nil && b.known.Value != nil:
		w.values[v] = b.known.Value
		if b.typ.Kind == op.Tensor && b.typ.DType.IsFloat() && b.typ.Static() {
			break // a loss may be constant, an output differentiable: keep a node as well
		}
		return nil
	case w.have[v] != nil && b.node == nil:
		w.values[v] = nil // read from what is at hand
	}
	n, err := w.nodeOf(v)
	if err != nil {
		return err
	}
	w.wanted[v] = n
	return nil
}

// handOver lists the values of this stage that later ones read, and those they wait for.
func (w *walker) handOver(want []*Value) []*Value {
	set := map[*Value]bool{}
	var list []*Value
	var add func(v *Value)
	add = func(v *Value) {
		if v == nil || set[v] || v.param != nil || w.env[v] == nil {
			return
		}
		if w.env[v].item != nil && w.demanded[v] == nil { // taken apart again, from what it was made of
			for _, x := range v.producer.reads() {
				add(x)
			}
			return
		}
		if _, ok := w.have[v]; ok {
			return
		}
		set[v] = true
		list = append(list, v)
	}
	for _, n := range w.deferred {
		for _, v := range n.reads() {
			add(v)
		}
	}
	for v := range w.demanded {
		add(v)
	}
	for _, v := range want {
		add(v)
	}
	slices.SortFunc(list, func(a, b *Value) int { return strings.Compare(a.name, b.name) })
	return list
}

// narrow spares the lowering what nobody reads of the results of its nodes, and what it would copy only.
func (w *walker) narrow() error {
	if w.fuser == nil {
		return nil
	}
	var roots gorgonia.Nodes
	var place []func(n *gorgonia.Node)
	add := func(n *gorgonia.Node, put func(n *gorgonia.Node)) {
		if n != nil {
			roots, place = append(roots, n), append(place, put)
		}
	}
	values := slices.SortedFunc(maps.Keys(w.wanted), func(a, b *Value) int { return strings.Compare(a.name, b.name) })
	for _, v := range values {
		add(w.wanted[v], func(n *gorgonia.Node) { w.wanted[v] = n })
	}
	for i := range w.updates {
		u := &w.updates[i]
		add(u.node, func(n *gorgonia.Node) { u.node = n })
	}
	for _, v := range w.wrt {
		if b := w.env[v]; b != nil {
			add(b.node, func(n *gorgonia.Node) { b.node = n })
		}
	}
	roots, err := std.NeededRows(roots)
	if err == nil {
		roots, err = std.PackedHeads(roots)
	}
	for i := range roots {
		place[i](roots[i])
	}
	return err
}

// differentiate emits the gradients of what is differentiated.
func (w *walker) differentiate() error {
	if len(w.of) == 0 || len(w.deferred) > 0 {
		return nil
	}
	of, seeds, nodes := make(gorgonia.Nodes, len(w.of)), make(gorgonia.Nodes, len(w.of)), make(gorgonia.Nodes, len(w.wrt))
	for i, v := range w.of {
		t := w.at(v).typ
		if of[i] = w.wanted[v]; w.loss && (t.Elements() != 1 || !t.DType.IsFloat()) {
			return &Error{Stage: "gradient", Input: v.name, Want: "a loss of one floating-point element", Got: t.Concrete()}
		}
		var err error
		if of[i] == nil {
			if of[i], err = w.nodeOf(v); err != nil {
				return err
			}
		}
		if x := w.seeds[v]; x != nil {
			seeds[i], err = op.Const(w.expr, x)
		} else {
			seeds[i], err = constLike(w.expr, t, 1)
		}
		if err != nil {
			return err
		}
	}
	for i, v := range w.wrt {
		if b := w.env[v]; b != nil {
			nodes[i] = b.node
		}
	}
	if err := w.lostGradient(of); err != nil {
		return err
	}
	if err := op.CheckGradients(of, w.askedFor(w.wrt)); err != nil {
		return err
	}
	var err error
	w.grads, err = gradients(of, seeds, nodes)
	return err
}

// foldingTime is how long loops of constants are computed where no run waits: Lower and what files are written from have no
// context of their own.
const foldingTime = time.Minute

var errFolding = errors.New("computing what does not depend on inputs takes longer than a minute: use Run, which computes it too and can be cancelled")

// folding is the context of a lowering that no run waits for.
func folding() (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(context.Background(), foldingTime, errFolding)
}

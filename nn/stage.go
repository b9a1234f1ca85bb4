package nn

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/std"
	"gorgonia.org/gorgonia"
)

// stage is a compiled part of a graph: everything that can be lowered from the values at hand.
type stage struct {
	final   bool
	stuck   error // why the rest had to wait, when not final
	inputs  []boundNode
	outs    []*Value // handed on, when not final
	nodes   map[*Value]*gorgonia.Node
	values  map[*Value]dtype.Value // known without running
	spec    map[*Value]dtype.Value // values the lowering depends on
	baked   map[*Param]uint64      // constants the lowering depends on, as they were
	wrt     []*Value
	grads   gorgonia.Nodes // by wrt; nil: none
	updates []stateUpdate
	key     *gorgonia.Node
	roots   gorgonia.Nodes
	pool    programs
	params  map[*Param]*gorgonia.Node // that kernels may keep something of
	handing handing
}

type boundNode struct {
	value *Value
	node  *gorgonia.Node
}

// lowerStage lowers what the wanted values need and the values at hand allow.
func (g *Graph) lowerStage(ctx context.Context, have map[*Value]dtype.Value, types map[*Value]op.Type, r request) (*stage, error) {
	w := newWalker(g, walkLower)
	w.train, w.expr = r.train, gorgonia.NewGraph(gorgonia.WithGraphName(g.name))
	w.have, w.wrt, w.ctx = have, r.wrt, ctx
	if w.influenced = g.influenced(r.asked); r.asked == nil {
		w.influenced = g.influenced(r.wrt)
	}
	for v, x := range have {
		t, ok := types[v]
		if !ok {
			t = op.TypeOf(x)
		}
		w.env[v] = &binding{typ: t, known: op.Known{Frozen: r.frozen[v]}}
		if t.Kind != op.Tensor || t.DType == dtype.String {
			x = cloneValue(x)
			w.env[v].known.Value = x
			w.spec[v] = x
		}
	}
	want := slices.Clone(r.want)
	if r.loss != nil {
		want = append(want, r.loss)
	}
	nodes := ancestors(want, func(v *Value) bool { _, ok := have[v]; return ok })
	if !g.unfused && g.opset("") >= 7 { // before, sums and products had ways of their own to broadcast
		w.fuser = newFuser(w.g.ops.Rewrites(), nodes, want, r.wrt)
	}
	for _, n := range nodes {
		done := true
		for _, v := range n.out {
			if _, ok := have[v]; v != nil && !ok {
				done = false
			}
		}
		if done {
			continue
		}
		if err := w.visit(n); err != nil {
			return nil, err
		}
	}
	if len(w.missing) > 0 {
		return nil, unsupported(w.missing)
	}
	st := &stage{final: len(w.deferred) == 0, nodes: map[*Value]*gorgonia.Node{}, values: map[*Value]dtype.Value{}, spec: w.spec}
	need := want
	if !st.final {
		st.stuck = w.deferredError()
		need = w.handOver(want, have)
		st.outs = need
	}
	for _, v := range need {
		if err := st.require(w, v, have); err != nil {
			return nil, err
		}
	}
	if w.fuser != nil {
		if err := st.needRows(w, r.wrt); err != nil {
			return nil, err
		}
	}
	if st.final && r.loss != nil {
		t := w.at(r.loss).typ
		if n := st.nodes[r.loss]; n == nil || t.Elements() != 1 || !t.DType.IsFloat() {
			return nil, &Error{Stage: "gradient", Input: r.loss.name, Want: "a loss of one floating-point element", Got: t.Concrete()}
		}
		one, err := dtype.FromFloats(t.DType, []float64{1}, t.Sizes()...)
		if err != nil {
			return nil, err
		}
		seed, err := op.Const(w.expr, one)
		if err != nil {
			return nil, err
		}
		if err := st.differentiate(w, gorgonia.Nodes{st.nodes[r.loss]}, gorgonia.Nodes{seed}, r.wrt); err != nil {
			return nil, err
		}
	}
	st.seal(w, have)
	if st.final && r.loss != nil && st.values[r.loss] == nil {
		st.handing.gate = st.nodes[r.loss]
	}
	return st, nil
}

// handOver lists the values of this stage that later ones read, and those they wait for.
func (w *walker) handOver(want []*Value, have map[*Value]dtype.Value) []*Value {
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
		if _, ok := have[v]; ok {
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

// require makes sure the stage yields v: by a node, or because its value is known.
func (st *stage) require(w *walker, v *Value, have map[*Value]dtype.Value) error {
	b := w.at(v)
	if b == nil {
		return &Error{Stage: "lower", Input: v.name, Err: errors.New("is not computed")}
	}
	switch {
	case b.node == nil && b.late == nil && b.known.Value != nil:
		st.values[v] = b.known.Value
		if b.typ.Kind == op.Tensor && b.typ.DType.IsFloat() && b.typ.Static() {
			break // a loss may be constant, an output differentiable: keep a node as well
		}
		return nil
	case have[v] != nil && b.node == nil:
		st.values[v] = nil // read from what is at hand
	}
	n, err := w.nodeOf(v)
	if err != nil {
		return err
	}
	st.nodes[v] = n
	return nil
}

// needRows spares the stage what nobody reads of the results of its nodes, and what it would copy only.
func (st *stage) needRows(w *walker, wrt []*Value) error {
	var roots gorgonia.Nodes
	var place []func(n *gorgonia.Node)
	add := func(n *gorgonia.Node, put func(n *gorgonia.Node)) {
		if n != nil {
			roots, place = append(roots, n), append(place, put)
		}
	}
	values := slices.SortedFunc(maps.Keys(st.nodes), func(a, b *Value) int { return strings.Compare(a.name, b.name) })
	for _, v := range values {
		add(st.nodes[v], func(n *gorgonia.Node) { st.nodes[v] = n })
	}
	for i := range w.updates {
		u := &w.updates[i]
		add(u.node, func(n *gorgonia.Node) { u.node = n })
	}
	for _, v := range wrt {
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

func (st *stage) differentiate(w *walker, of, seeds gorgonia.Nodes, wrt []*Value) error {
	nodes := make(gorgonia.Nodes, len(wrt))
	for i, v := range wrt {
		if b := w.env[v]; b != nil {
			nodes[i] = b.node
		}
	}
	if err := w.lostGradient(of); err != nil {
		return err
	}
	if err := op.CheckGradients(of, w.askedFor(wrt)); err != nil {
		return err
	}
	grads, err := gradients(of, seeds, nodes)
	st.wrt, st.grads = wrt, grads
	return err
}

// seal collects what running the stage takes.
func (st *stage) seal(w *walker, have map[*Value]dtype.Value) {
	for v := range have {
		if b := w.env[v]; b != nil && b.node != nil {
			st.inputs = append(st.inputs, boundNode{v, b.node})
		}
	}
	st.key, st.baked = w.key, w.baked
	st.handing.nodes = w.params
	if !w.train { // in training no weight stays what it is
		st.params = w.params
	}
	if st.final {
		st.updates = w.updates
	}
	seen := map[*gorgonia.Node]bool{}
	add := func(n *gorgonia.Node) {
		if n != nil && !seen[n] {
			seen[n] = true
			st.roots = append(st.roots, n)
		}
	}
	for v, n := range st.nodes {
		if st.values[v] == nil {
			add(n)
		}
	}
	for _, n := range st.grads {
		add(n)
	}
	for _, u := range st.updates {
		add(u.node)
	}
	slices.SortFunc(st.roots, func(a, b *gorgonia.Node) int { return int(a.ID() - b.ID()) })
}

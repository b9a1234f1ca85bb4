package nn

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"

	"github.com/graft-ml/graft/internal/engine"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// request says what to compute.
type request struct {
	want      []*Value
	loss      *Value   // what is differentiated; nil: nothing
	wrt       []*Value // inputs and parameters to differentiate for
	asked     []*Value // those of them that the caller named, the others being what stages hand on; nil: all
	train     bool
	seed      [2]uint64 // seed and step, for random operators
	unchecked bool      // inputs come from graft itself
	borrow    bool      // results may be the engine's memory, valid until the next run
	begin     func(loss dtype.Value) error
	take      func(p *Param, x *tensor.Dense) error // gets gradients and updates as they arrive; nil: the result has them
}

// result is what a request computed; grads and updates follow request.wrt and the statistics.
type result struct {
	values  []dtype.Value
	grads   []*tensor.Dense // nil where the loss does not depend on it
	updates map[*Param]*tensor.Dense
	taken   bool   // request.take got the gradients and updates
	done    func() // gives borrowed memory back
}

// exec runs a request in as many stages as it takes. The caller holds the read lock, or owns g.
func (g *Graph) exec(ctx context.Context, feed map[*Value]dtype.Value, r request) (*result, error) {
	types, err := g.feedTypes(feed, r)
	if err != nil {
		return nil, err
	}
	have := feed
	var trail []*stage
	var haves []map[*Value]dtype.Value
	for {
		st, err := g.stageFor(have, types, r, len(trail))
		if err != nil {
			return nil, err
		}
		if st.final && (r.loss == nil || len(trail) == 0) {
			return st.finish(ctx, have, r)
		}
		if st.final {
			return g.backward(ctx, append(trail, st), append(haves, have), types, r)
		}
		trail, haves = append(trail, st), append(haves, have)
		out, err := st.forward(ctx, have, r)
		if err != nil {
			return nil, err
		}
		next := make(map[*Value]dtype.Value, len(have)+len(out))
		for v, x := range have {
			next[v] = x
		}
		for v, x := range out {
			next[v] = x
		}
		if len(next) == len(have) {
			return nil, st.stuck
		}
		have = next
	}
}

// feedTypes checks the inputs and gives their concrete types, symbols attached.
func (g *Graph) feedTypes(feed map[*Value]dtype.Value, r request) (map[*Value]op.Type, error) {
	types := make(map[*Value]op.Type, len(feed))
	sizes := map[string]sized{}
	for v, x := range feed {
		types[v] = op.TypeOf(x)
	}
	for _, v := range g.inputs {
		x, ok := feed[v]
		if !ok {
			if v.typ.Kind == op.Optional || r.unchecked {
				continue
			}
			return nil, &Error{Stage: "run", Input: v.name, Want: v.typ, Got: "nothing"}
		}
		if r.unchecked {
			continue
		}
		t, err := matchType(v, op.TypeOf(x), sizes)
		if err != nil {
			return nil, err
		}
		types[v] = t
	}
	return types, nil
}

// stage is a compiled part of a graph: everything that can be lowered from the values at hand.
type stage struct {
	final   bool
	stuck   error // why the rest had to wait, when not final
	inputs  []boundNode
	outs    []*Value // handed on, when not final
	nodes   map[*Value]*gorgonia.Node
	values  map[*Value]dtype.Value // known without running
	spec    map[*Value]dtype.Value // values the lowering depends on
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
func (g *Graph) lowerStage(have map[*Value]dtype.Value, types map[*Value]op.Type, r request) (*stage, error) {
	w := newWalker(g, walkLower)
	w.train, w.expr = r.train, gorgonia.NewGraph(gorgonia.WithGraphName(g.Name))
	w.have, w.wrt = have, r.wrt
	if w.influenced = g.influenced(r.asked); r.asked == nil {
		w.influenced = g.influenced(r.wrt)
	}
	for v, x := range have {
		t, ok := types[v]
		if !ok {
			t = op.TypeOf(x)
		}
		w.env[v] = &binding{typ: t}
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
		w.fuser = newFuser(nodes, want, r.wrt)
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
	roots, err := op.NeededRows(roots)
	if err == nil {
		roots, err = op.PackedHeads(roots)
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
	st.key = w.key
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

// run executes a program of the stage on the values at hand.
func (st *stage) run(ctx context.Context, have map[*Value]dtype.Value, r request) (*engine.Program, error) {
	if len(st.roots) == 0 {
		return nil, ctx.Err()
	}
	hands := st.hands(r)
	p, err := st.pool.take(st, variant{hands: hands, private: !r.borrow})
	if err != nil {
		return nil, &Error{Stage: "compile", Err: err}
	}
	for _, b := range st.inputs {
		x, ok := have[b.value]
		if !ok {
			continue
		}
		if err := p.Bind(b.node, x); err != nil {
			return nil, &Error{Stage: "run", Input: b.value.name, Err: err}
		}
	}
	if st.key != nil {
		key, err := dtype.FromSlice(r.seed[:], 2)
		if err != nil {
			return nil, err
		}
		if err := p.Bind(st.key, key); err != nil {
			return nil, err
		}
	}
	if hands {
		err = p.RunHanding(ctx, st.receiver(p, r))
	} else {
		err = p.Run(ctx)
	}
	if err != nil {
		if e := ctx.Err(); e != nil && (!hands || errors.Is(err, e)) {
			return nil, e
		}
		if e := op.AtRun(err); e != nil {
			return nil, e
		}
		var e *op.Error
		if errors.As(err, &e) {
			return nil, err
		}
		return nil, &Error{Stage: "run", Err: err}
	}
	return p, nil
}

// value is what the stage computed for v.
func (st *stage) value(p *engine.Program, v *Value, have map[*Value]dtype.Value, borrow bool) (dtype.Value, error) {
	if x := st.values[v]; x != nil {
		return cloneValue(x), nil
	}
	n := st.nodes[v]
	if n == nil || p == nil {
		return nil, &Error{Stage: "run", Input: v.name, Err: errors.New("was not computed")}
	}
	x := p.Value(n)
	if x == nil {
		return nil, &Error{Stage: "run", Input: v.name, Err: errors.New("has no value")}
	}
	if borrow {
		return x, nil
	}
	return cloneValue(x), nil
}

func cloneValue(x dtype.Value) dtype.Value {
	switch x := x.(type) {
	case *tensor.Dense:
		return dtype.Clone(x)
	case *dtype.Strings:
		return &dtype.Strings{Dims: slices.Clone(x.Dims), Elems: slices.Clone(x.Elems)}
	}
	return x
}

// forward runs a stage that is not the last and returns the values it hands on.
func (st *stage) forward(ctx context.Context, have map[*Value]dtype.Value, r request) (map[*Value]dtype.Value, error) {
	p, err := st.run(ctx, have, r)
	if err != nil {
		return nil, err
	}
	out := make(map[*Value]dtype.Value, len(st.outs))
	for _, v := range st.outs {
		if out[v], err = st.value(p, v, have, false); err != nil {
			return nil, err
		}
	}
	st.pool.give(p, variant{private: !r.borrow})
	return out, nil
}

// finish runs the last stage and collects the results.
func (st *stage) finish(ctx context.Context, have map[*Value]dtype.Value, r request) (*result, error) {
	p, err := st.run(ctx, have, r)
	if err != nil {
		return nil, err
	}
	res := &result{values: make([]dtype.Value, len(r.want)), updates: map[*Param]*tensor.Dense{}}
	hands := st.hands(r)
	res.done = func() { st.pool.give(p, variant{hands: hands, private: !r.borrow}) }
	for i, v := range r.want {
		if res.values[i], err = st.value(p, v, have, r.borrow); err != nil {
			return nil, err
		}
	}
	if res.taken = hands && p != nil; res.taken {
		res.done()
		res.done = func() {}
		return res, nil
	}
	if res.grads, err = st.gradValues(p, r.borrow); err != nil {
		return nil, err
	}
	for _, u := range st.updates {
		d, ok := p.Value(u.node).(*tensor.Dense)
		if !ok {
			return nil, &Error{Stage: "run", Input: u.param.Name(), Err: fmt.Errorf("has no next value")}
		}
		if !r.borrow {
			d = dtype.Clone(d)
		}
		res.updates[u.param] = d
	}
	if !r.borrow {
		res.done()
		res.done = func() {}
	}
	return res, nil
}

func (st *stage) gradValues(p *engine.Program, borrow bool) ([]*tensor.Dense, error) {
	if st.grads == nil {
		return nil, nil
	}
	grads := make([]*tensor.Dense, len(st.grads))
	for i, n := range st.grads {
		if n == nil {
			continue
		}
		d, ok := p.Value(n).(*tensor.Dense)
		if !ok {
			return nil, &Error{Stage: "gradient", Input: st.wrt[i].name, Err: errors.New("has no value")}
		}
		if !borrow {
			d = dtype.Clone(d)
		}
		grads[i] = d
	}
	runtime.KeepAlive(p) // d is its memory
	return grads, nil
}

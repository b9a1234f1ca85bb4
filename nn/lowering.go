package nn

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/graft-ml/graft/internal/engine"
	"github.com/graft-ml/graft/internal/kernel"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/std"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// pass is one step of a lowering.
type pass struct {
	name     string
	requires string
	ensures  string
	run      func(w *walker) error
}

// passes lists the passes of every lowering, in order. Lower, runs, their stages and gradients, the bodies of If, Loop and
// Scan, Gradient nodes and type inference all go through this list with different settings (see lowering); a pass that the
// settings do not ask for does nothing. The result is compiled when a program is first needed (programs.take): the engine fuses calls
// (engine.Compile, op.Set.Fusions), plans memory and schedules the steps.
func passes() []pass {
	return []pass{
		{"plan", "a graph; known values, wanted values, values to differentiate with respect to", "nodes in topological order, without those whose results are known; the groups among them", (*walker).plan},
		{"emit", "nodes", "the type of every value; for each an expression node, a constant or a function that emits it, or the node waits for a value that must be computed first", (*walker).emitNodes},
		{"collect", "bound values", "a node or a known value for each wanted value and, unless the stage is the last, for each value that later stages read", (*walker).collect},
		{"narrow", "nodes of the wanted values", "rows that nothing reads are not computed, attention reads packed heads in place", (*walker).narrow},
		{"differentiate", "nodes of the values to differentiate, no waiting node", "a node for every gradient that exists; an error if one would pass through an operator without a gradient", (*walker).differentiate},
	}
}

// lowering holds the settings of a lowering.
type lowering struct {
	g      *Graph
	mode   walkMode
	train  bool
	ctx    context.Context // cancels what is computed during the lowering
	nested *bodyTypes      // what is shared with the lowerings of the graphs around a subgraph

	bound  map[*Value]*binding      // values known in advance
	have   map[*Value]dtype.Value   // values available: fed or computed by earlier stages
	moved  map[*Value]*tensor.Dense // statistics that earlier stages have moved
	want   []*Value                 // values to compute; nil: every node of the graph is visited
	wrt    []*Value                 // differentiate with respect to these: not folded, even if constant
	asked  []*Value                 // those of wrt that the caller named; nil: all
	of     []*Value                 // values to differentiate
	loss   bool                     // of is a loss: one floating-point element
	seeded bool                     // the gradients of the values in of are inputs, not ones

	stages bool // nodes may wait for values that must be computed first
	groups bool // known groups of nodes are replaced by one operator, and rows that nothing reads are not computed
	shown  bool // the caller reads the nodes
	still  bool // only types are wanted: subgraphs are not run to find them
	strict bool // straight-through gradients are refused: they are a rule of runs
	calls  bool // keep the calls of resolved nodes

	expr     *gorgonia.ExprGraph            // nodes are emitted here; nil: into a new graph
	seed     [2]uint64                      // random key of the run, if the lowering is for one
	outerKey func() (*gorgonia.Node, error) // random key of the graph that contains a subgraph
	suffix   string                         // distinguishes names in subgraphs from those outside
}

// lower runs the passes. The walker it returns holds the results, up to the error if there is one.
func (l lowering) lower() (w *walker, err error) {
	w = l.walker()
	defer func() { // the context ended while a kernel was prepared
		if p := recover(); p == (kernel.Stopped{}) {
			err = w.stopped()
		} else if p != nil {
			panic(p)
		}
	}()
	for _, p := range passes() {
		if err := p.run(w); err != nil {
			if w.late() && errors.Is(err, w.ctx.Err()) {
				err = w.stopped()
			}
			return w, err
		}
		if err := w.ended(); err != nil {
			return w, err
		}
	}
	return w, nil
}

// stopped returns the error of a lowering whose context has ended.
func (w *walker) stopped() error {
	if w.late() {
		return &Error{Stage: "lower", Err: errFolding}
	}
	return w.ctx.Err()
}

// walker returns the state before the first pass.
func (l lowering) walker() *walker {
	if l.expr == nil && l.mode != walkInfer {
		l.expr = gorgonia.NewGraph(gorgonia.WithGraphName(l.g.name))
	}
	if l.ctx == nil {
		l.ctx = l.g.inferring(l.g.until())
	}
	l.ctx, l.nested = l.g.shareNested(l.ctx)
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
		w.called = make(map[*Node]*op.Call, len(l.g.nodes()))
	}
	if w.influenced = l.g.influenced(l.wrt); l.asked != nil {
		if w.influenced = l.g.influenced(l.asked); w.influenced == nil {
			w.influenced = map[*Value]bool{}
		}
	}
	return w
}

// portsPerNode is how many inputs and outputs of nodes take about as much memory, in lowerings and programs, as a node.
const portsPerNode = 8

// plan finds the nodes to visit.
func (w *walker) plan() error {
	want := slices.Concat(w.want, w.of)
	if w.want == nil && w.of == nil {
		w.nodes = w.g.nodes()
	} else {
		turns, ended := 0, false // there may be hundreds of thousands of nodes
		at := func(v *Value) bool {
			if turns++; turns%4096 == 0 && w.ended() != nil {
				ended = true
			}
			return ended || v == nil || w.env[v] != nil
		}
		w.nodes = ancestors(want, at)
		w.nodes = slices.DeleteFunc(w.nodes, func(n *Node) bool { return !slices.ContainsFunc(n.out, func(v *Value) bool { return !at(v) }) })
		if ended {
			return w.ended()
		}
	}
	if w.expr != nil {
		n := len(w.nodes)
		for _, x := range w.nodes {
			n += (len(x.in) + len(x.out)) / portsPerNode
		}
		if err := engine.HoldNodes(w.expr, len(w.expr.AllNodes())+n); err != nil {
			return &Error{Stage: "lower", Err: err}
		}
	}
	if w.groups && !w.g.unfused && w.g.opset("") >= 7 { // earlier versions of Add and Mul broadcast differently
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
		if err := w.ended(); err != nil {
			return err
		}
		if w.g.body != nil {
			if err := w.nested.visit(); err != nil {
				return located(w.stage(), n, err)
			}
		}
		if err := w.visit(n); err != nil {
			return err
		}
	}
	return nil
}

// collect ensures that every wanted value has a node or is known.
func (w *walker) collect() error {
	if w.mode == walkInfer {
		return nil
	}
	need := slices.Concat(w.want, w.of)
	if len(w.deferred) > 0 {
		need = w.readLater(need)
		w.outs = need
	}
	for _, v := range need {
		if err := w.require(v); err != nil {
			return err
		}
	}
	return nil
}

// require ensures that the lowering yields v, by a node or as a known value.
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
		w.values[v] = nil // read from the values available
	}
	n, err := w.nodeOf(v)
	if err != nil {
		return err
	}
	w.wanted[v] = n
	return nil
}

// readLater lists the values of this stage that later ones read, and those they wait for.
func (w *walker) readLater(want []*Value) []*Value {
	set := map[*Value]bool{}
	var list []*Value
	var add func(v *Value)
	add = func(v *Value) {
		if v == nil || set[v] || v.param != nil || w.env[v] == nil {
			return
		}
		if w.env[v].item != nil && w.demanded[v] == nil { // an item of a container is taken from the values that the container was made of
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

// narrow removes computations of rows that nothing reads, and copies of packed heads.
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
	ctx := engine.WithoutLimit(w.ctx)
	roots, err := std.NeededRows(ctx, roots)
	if err != nil {
		return err
	}
	if roots, err = std.PackedHeads(ctx, roots); err != nil {
		return err
	}
	for i := range roots {
		place[i](roots[i])
	}
	return nil
}

// differentiate emits the gradients.
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
		if w.seeded {
			if of[i], err = w.g.ops.Apply1(op.Plain("Identity"), of[i]); err == nil { // they may be inputs, or depend on one another
				seeds[i], err = op.Input(w.expr, "gradient "+w.nodeName(v), t, nil)
			}
			w.seeds = append(w.seeds, boundNode{v, seeds[i]})
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
	if err := op.CheckGradients(engine.WithoutLimit(w.ctx), of, w.askedFor(w.wrt)); err != nil {
		return err
	}
	var err error
	w.grads, err = gradients(engine.WithoutLimit(w.ctx), of, seeds, nodes)
	return err
}

// foldingTime limits how long a lowering without its own context computes values that do not depend on
// inputs: Lower, and those from which files are written. What takes longer becomes a node, and is
// computed by runs.
var foldingTime = time.Second

var errFolding = errors.New("computing the shapes, which do not depend on inputs, takes more than a second: use Run, which computes them too and can be cancelled")

// folding returns the context of such a lowering, which ctx ends.
func folding(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(engine.Unlimited(ctx), foldingTime, errFolding)
}

// ended returns the error of the context that ends the lowering. That the time for folding is over does not.
func (w *walker) ended() error { return engine.WithoutLimit(w.ctx).Err() }

// late reports whether the time for folding is over: only trivial computations are folded then.
func (w *walker) late() bool { return errors.Is(context.Cause(w.ctx), errFolding) }

package nn

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/graft-ml/graft/internal/kernel"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/std"
	"gorgonia.org/gorgonia"
)

// walkMode is what a walker does at each node.
type walkMode int

const (
	walkInfer walkMode = iota // types and shapes, symbols allowed
	walkLower                 // emit expression nodes; everything known is folded
	walkTrace                 // emit expression nodes for everything that has a static shape
)

// binding is what a walk knows about a value.
type binding struct {
	typ   op.Type
	known op.Known
	node  *gorgonia.Node // created on demand, see nodeOf
	late  *emission      // of the node that computes the value, see fuser
	item  *op.Item       // the contents of a container, if known before its value
	open  bool           // known, but only for the sizes of this lowering: it was computed from a symbolic shape
	soft  bool           // declared by a file, which may be wrong, rather than inferred
}

// walker visits nodes in topological order, infers types and, when lowering, emits expression nodes.
// A node whose types depend on values that are not known yet is deferred to the next stage.
type walker struct {
	lowering

	nodes      []*Node
	env        map[*Value]*binding
	params     map[*Param]*gorgonia.Node
	key        *gorgonia.Node // of random operators
	updates    []stateUpdate
	spec       map[*Value]dtype.Value // available values that the lowering depends on
	inferring  time.Duration          // spent on types that follow from large values
	once       bool                   // it also depends on values that are not kept
	baked      map[*Param]uint64      // constants that were folded, with their versions
	deferred   []*Node
	waiting    map[*Node]bool
	demanded   map[*Value]error   // values that deferred nodes wait for
	unmoved    map[*Value]bool    // statistics that deferred nodes will move
	movedNodes []boundNode        // inputs for w.moved
	missing    []*Node            // nodes whose operators are unknown
	fuser      *fuser             // finds groups of nodes to replace by one operator; nil: none
	called     map[*Node]*op.Call // calls of resolved nodes, if the caller wants them
	looks      *watch             // of the loops that read a walk; nil: none

	influenced map[*Value]bool          // values whose gradients are requested, and what depends on them
	lost       map[*Value]error         // values that no gradient goes through, and why
	lostNodes  map[*gorgonia.Node]error // nodes of such values

	outs   []*Value                  // values that later stages read
	wanted map[*Value]*gorgonia.Node // nodes of the wanted values
	values map[*Value]dtype.Value    // wanted values that are known without running
	seeds  []boundNode               // gradients of the values to differentiate, if they are inputs
	grads  gorgonia.Nodes            // by wrt; nil: none
}

// stateUpdate assigns the value of a node to a parameter after a training step.
type stateUpdate struct {
	value *Value // of a parameter, or what stands for one in a subgraph
	param *Param // nil in a subgraph
	node  *gorgonia.Node
}

// at returns the binding of a value; a parameter is bound when it is first read.
func (w *walker) at(v *Value) *binding {
	if b := w.env[v]; b != nil {
		return b
	}
	if v.param == nil {
		return nil
	}
	b := &binding{typ: op.TypeOf(v.param.tensor())}
	if v.param.purpose() == Constant && !slices.Contains(w.wrt, v) {
		b.known.Value = v.param.tensor()
		w.baked[v.param] = v.param.kept.Version(nil, b.known.Value)
	}
	b.known.Frozen = v.param.frozen
	w.env[v] = b
	return b
}

func (w *walker) types(list []*Value) ([]op.Type, error) {
	out := make([]op.Type, len(list))
	for i, v := range list {
		if b := w.at(v); b != nil {
			out[i] = b.typ
		}
	}
	return out, nil
}

// reads lists the values that a node reads, captured ones last; nil where an input is absent.
func (n *Node) reads() []*Value {
	if len(n.captured) == 0 {
		return n.in
	}
	return append(slices.Clone(n.in), n.captured...)
}

// resolve infers the types of a call. What follows from large values takes at most foldingTime in all while only types are wanted; beyond
// that the values count as unknown. What the end of the time for folding interrupts is tried once more, with a little time of its own.
func (w *walker) resolve(c *op.Call) error {
	attempt := func() (err error, stopped bool) {
		defer func() {
			if p := recover(); p == (kernel.Stopped{}) {
				stopped = true
			} else if p != nil {
				panic(p)
			}
		}()
		return c.Resolve(), false
	}
	if w.mode == walkInfer && w.ctx.Done() == w.nested.whole && slices.ContainsFunc(c.Known, large) {
		start := time.Now()
		ctx, stop := context.WithTimeout(w.ctx, foldingTime-w.inferring)
		defer func() {
			stop()
			w.inferring += time.Since(start)
		}()
		c.Ctx = ctx
		err, stopped := attempt()
		if c.Ctx = w.ctx; !stopped && (err == nil || ctx.Err() == nil) {
			return err
		}
		for i := range c.Known {
			if large(c.Known[i]) {
				c.Known[i].Value = nil
			}
		}
		return c.Resolve()
	}
	late := w.late()
	err, stopped := attempt()
	if stopped && !late && w.late() {
		err, stopped = attempt()
	}
	if stopped {
		panic(kernel.Stopped{})
	}
	return err
}

// large reports whether an input has a known value that is not small.
func large(k op.Known) bool { return k.Value != nil && k.Value.Size() > 1024 }

// visit handles one node. A panic, which is a bug of the operator, is returned as an error.
func (w *walker) visit(n *Node) (err error) {
	defer func() {
		if p := recover(); p == (kernel.Stopped{}) {
			err = w.ctx.Err()
		} else if p != nil {
			err = located(w.stage(), n, fmt.Errorf("panic: %v", p))
		}
	}()
	if n.op == nil {
		w.missing = append(w.missing, n)
		w.bindDeclared(n)
		return nil
	}
	in := n.reads()
	c := w.call(n, in)
	if c == nil {
		return w.deferNode(n)
	}
	if w.mode == walkInfer && w.untyped(in) {
		w.bindDeclared(n)
		return nil
	}
	for {
		err := w.resolve(c)
		if err == nil {
			break
		}
		if w.mode == walkInfer && (unranked(c) || w.soft(in)) {
			w.bindPartly(n, c) // not enough is known to report an error
			return nil
		}
		i, need := needs(err)
		if !need || in[i] == nil {
			return located(w.stage(), n, err)
		}
		if w.mode == walkInfer {
			w.bindPartly(n, c)
			return nil
		}
		v, ok, derr := w.demand(in[i])
		if derr != nil {
			return derr
		}
		if !ok {
			w.demanded[in[i]] = located(w.stage(), n, err)
			return w.deferNode(n)
		}
		c.Known[i].Value = v
	}
	if w.called != nil {
		w.called[n] = c
	}
	if b, from := w.taken(c, in); b != nil {
		return w.inside(n, b, in[from:])
	}
	return w.resolved(n, c, in)
}

// needs is op.Needs for the node itself: what a node in its subgraph asks for is another's input.
func needs(err error) (input int, ok bool) {
	for e, at := err, (*op.Error)(nil); errors.As(e, &at); e = at.Err {
		if at.Node != "" {
			return 0, false
		}
	}
	return op.Needs(err)
}

// untyped reports whether the node reads a value of unknown type, the result of an unknown operator.
func (w *walker) untyped(in []*Value) bool {
	for _, v := range in {
		if v != nil && (v.producer != nil || v.graph.body == nil || v.untyped) && !w.at(v).typ.Present() {
			return true
		}
	}
	return false
}

func (w *walker) soft(in []*Value) bool {
	for _, v := range in {
		if v != nil && w.at(v).soft {
			return true
		}
	}
	return false
}

func unranked(c *op.Call) bool {
	for _, t := range c.In {
		if t.Unranked {
			return true
		}
	}
	return false
}

func (w *walker) stage() string {
	if w.mode == walkInfer {
		return "infer"
	}
	return "lower"
}

// located adds the stage and the node to an error.
func located(stage string, n *Node, err error) error {
	var e *op.Error
	if errors.As(err, &e) && error(e) == err {
		c := *e
		if c.Stage == "" {
			c.Stage = stage
		}
		if c.Op == "" {
			c.Op = n.opType
		}
		if c.Node == "" {
			c.Node = n.label()
		}
		return &c
	}
	return &Error{Stage: stage, Op: n.opType, Node: n.label(), Err: err}
}

// bareCall returns the call of a node without its inputs.
func (g *Graph) bareCall(n *Node, in []*Value) *op.Call {
	c := &op.Call{
		Set: g.ops, Op: n.op, Config: n.config, Version: n.op.Version(g.opset(n.domain)), Opset: g.opset(n.domain), Node: n.label(),
		In: make([]op.Type, len(in)), Known: make([]op.Known, len(in)), Outputs: len(n.out), Want: make([]bool, len(n.out)), Stream: stream(n),
	}
	if c.Version == 0 {
		c.Version = n.op.Since[0]
	}
	for i, v := range n.out {
		c.Want[i] = v != nil
	}
	return c
}

// call returns the call of a node, nil if an input is not bound yet.
func (w *walker) call(n *Node, in []*Value) *op.Call {
	c := w.g.bareCall(n, in)
	c.Train, c.Keep, c.Ctx = w.train && !w.frozenState(n), w.mode == walkTrace, w.ctx
	for i, v := range in {
		if v == nil {
			continue
		}
		b := w.at(v)
		if b == nil {
			return nil
		}
		c.In[i], c.Known[i] = b.typ, b.known
		c.Known[i].Apart = w.influenced != nil && !w.influenced[v]
	}
	if _, ok := n.config.(std.Referrer); ok {
		c.Derive = func(in gorgonia.Nodes) (gorgonia.Nodes, error) { return w.partGradients(n, in) }
	}
	return c
}

// opset returns the operator-set version of a domain; subgraphs use that of the graph that contains them.
func (g *Graph) opset(domain string) int {
	if v, ok := g.opsets[domain]; ok {
		return v
	}
	return 1
}

// frozenState reports whether running statistics of the node are frozen: it then runs as in evaluation.
func (w *walker) frozenState(n *Node) bool {
	formal := n.op.In.List()
	for i, v := range n.in {
		if s, _ := op.At(formal, i); v != nil && s.Role == op.State {
			if b := w.at(v); b != nil && b.known.Frozen {
				return true
			}
		}
	}
	return false
}

// stream returns the number of a random operator's stream, which depends on what it computes, so that
// edits elsewhere do not change its values.
func stream(n *Node) uint64 {
	h := uint64(14695981039346656037)
	for _, v := range n.out {
		for _, c := range []byte(v.id()) {
			h = (h ^ uint64(c)) * 1099511628211
		}
	}
	return h
}

func (w *walker) bindDeclared(n *Node) {
	for _, v := range n.out {
		if v != nil && w.mode == walkInfer {
			w.env[v] = &binding{typ: v.typ, soft: true}
		}
	}
}

// bindPartly binds the outputs by what Infer found before it lacked a value, and by the types that the file declares.
func (w *walker) bindPartly(n *Node, c *op.Call) {
	for i, v := range n.out {
		if v == nil {
			continue
		}
		t := v.typ
		if i < len(c.Out) && c.Out[i].Present() && (!t.Present() || t.Unranked || !c.Out[i].Unranked && c.Out[i].Rank() != t.Rank()) {
			t = c.Out[i]
		}
		w.env[v] = &binding{typ: t, soft: true}
	}
}

package nn

import (
	"errors"
	"fmt"
	"slices"

	"github.com/graft-ml/graft/internal/engine"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// resolved handles a node whose types are known.
func (w *walker) resolved(n *Node, c *op.Call, in []*Value) error {
	var known []op.Known
	if c.Op.Dims != nil {
		known = c.Op.Dims(c)
	}
	for len(known) < len(n.out) {
		known = append(known, op.Known{})
	}
	if w.mode == walkInfer {
		if small(c) {
			w.fold(c, known)
		}
		w.bind(n, c, known, nil)
		return nil
	}
	if len(w.unmoved) > 0 && slices.ContainsFunc(c.Moved(), func(u op.Update) bool { return w.unmoved[in[u.In]] }) {
		return w.deferNode(n) // nodes move a statistic in their order
	}
	if c.Op.Items != nil && w.mode == walkLower && !allValues(c) {
		if done, err := w.takeApart(n, c, in); done || err != nil {
			return err
		}
	}
	if !lowerable(c) {
		return w.outsideGraph(n, c, in, known)
	}
	if allValues(c) && !c.Random() && len(c.Moved()) == 0 && !(w.still && len(n.bodies()) > 0) && w.mode == walkLower && !w.keepsGradient(n, c) {
		_, err := w.fold(c, known)
		if err == nil {
			w.loses(n, c)
			w.bind(n, c, known, nil)
			return nil
		}
		if !w.late() || !errors.Is(err, w.ctx.Err()) {
			return located("lower", n, err)
		}
	}
	if w.mode == walkTrace && small(c) {
		w.fold(c, known)
	}
	if w.fuser != nil && postponable(c) {
		w.postpone(n, c, in, known)
		return nil
	}
	return w.emit(n, c, in, known)
}

// outsideGraph handles nodes whose results are not tensors of static shape: they are computed immediately if all
// inputs are known, and end the stage otherwise.
func (w *walker) outsideGraph(n *Node, c *op.Call, in []*Value, known []op.Known) error {
	if w.still && len(n.bodies()) > 0 {
		return w.deferNode(n)
	}
	for i, v := range in {
		if v == nil {
			continue
		}
		val, ok, err := w.demand(v)
		if err != nil {
			return err
		}
		if !ok {
			w.demanded[v] = located("lower", n, fmt.Errorf("the shape of its result depends on the value of %s", v.name))
			return w.deferNode(n)
		}
		c.Known[i].Value = val
	}
	for _, u := range c.Moved() {
		d, wait := w.movedValue(in[u.In])
		if wait {
			return w.deferNode(n)
		}
		if d != nil {
			c.Known[u.In].Value = d
		}
	}
	if c.Random() { // computed with the key of the run, which no other run takes
		var err error
		if c.Key, err = w.runKey(); err != nil {
			return located("lower", n, err)
		}
		w.once = true
	}
	out, err := w.fold(c, known)
	if err != nil {
		return located("lower", n, err)
	}
	if w.passesGradient(c, known) {
		return w.emit(n, c, in, known)
	}
	if err := w.move(c, in, out); err != nil {
		return located("lower", n, err)
	}
	w.loses(n, c)
	w.bind(n, c, known, nil)
	return nil
}

// move records the statistics that a call which was computed in advance, with the results out, has moved.
func (w *walker) move(c *op.Call, in []*Value, out []dtype.Value) error {
	for _, u := range c.Moved() {
		if u.Out >= len(out) || out[u.Out] == nil {
			continue
		}
		n, err := op.Const(w.expr, out[u.Out])
		if err != nil {
			return err
		}
		w.update(in, u.In, n)
	}
	return nil
}

// passesGradient reports whether a call that was computed immediately stays in the expression graph, so that
// gradients pass through it. Its outputs then have the types that were found, and its floating-point results are recomputed.
func (w *walker) passesGradient(c *op.Call, known []op.Known) bool {
	if len(w.wrt) == 0 || c.Op.Grad == nil {
		return false
	}
	for i := range c.Outputs {
		if c.Wants(i) && !op.TypeOf(known[i].Value).Static() {
			return false
		}
	}
	for i := range c.Outputs {
		if c.Wants(i) {
			c.Out[i] = op.TypeOf(known[i].Value)
		}
		if c.Out[i].DType.IsFloat() {
			known[i].Value = nil
		}
	}
	return true
}

// lowerable reports whether all outputs are tensors of static shape.
func lowerable(c *op.Call) bool {
	for i := range c.Outputs {
		if c.Wants(i) && !c.Out[i].Static() {
			return false
		}
	}
	return true
}

func allValues(c *op.Call) bool {
	any := false
	for i := range c.In {
		if c.Has(i) {
			if _, err := c.Value(i); err != nil {
				return false
			}
			any = true
		}
	}
	return any || len(c.In) == 0
}

// small reports whether folding a call while inferring types is cheap enough.
func small(c *op.Call) bool {
	if c.Op.Random || !lowerable(c) || !allValues(c) || c.Op.Lower != nil || len(configBodies(c.Config)) > 0 {
		return false
	}
	for _, t := range append(slices.Clone(c.In), c.Out[:c.Outputs]...) {
		if t.Present() && (!t.Static() || t.Elements() > 1024) {
			return false
		}
	}
	return true
}

// fold computes a call whose inputs are all known, stores the results in known, and returns them with the hidden ones.
func (w *walker) fold(c *op.Call, known []op.Known) ([]dtype.Value, error) {
	in := make([]dtype.Value, len(c.In))
	for i := range c.In {
		if !c.Has(i) {
			continue
		}
		v, err := c.Value(i)
		if err != nil {
			return nil, err
		}
		in[i] = v
	}
	if w.late() {
		if !small(c) {
			return nil, w.ctx.Err()
		}
		c.Ctx = nil
	}
	out, err := op.Eval(c, in)
	if err != nil {
		return nil, err
	}
	for i, v := range out[:min(len(out), len(known))] {
		if v == nil {
			continue
		}
		if d, ok := v.(*tensor.Dense); !ok || !sharesMemory(d, in) {
			if err := engine.Hold(c.Context(), v); err != nil {
				return nil, c.Errorf("%w", err)
			}
		}
		known[i].Value = v
	}
	return out, nil
}

// sharesMemory reports whether d is a view of one of the values.
func sharesMemory(d *tensor.Dense, values []dtype.Value) bool {
	return slices.ContainsFunc(values, func(v dtype.Value) bool {
		x, ok := v.(*tensor.Dense)
		return ok && len(x.Raw) > 0 && len(d.Raw) > 0 && &x.Raw[0] == &d.Raw[0]
	})
}

// isGiven reports whether a value is already available: its node is visited for its other outputs.
func (w *walker) isGiven(v *Value) bool {
	_, given := w.have[v]
	return given
}

// bind records the outputs of a node.
func (w *walker) bind(n *Node, c *op.Call, known []op.Known, nodes gorgonia.Nodes) {
	for i, v := range n.out {
		if v == nil || w.isGiven(v) {
			continue
		}
		b := &binding{typ: c.Out[i], known: known[i], soft: w.soft(n.reads())}
		if b.known.Value != nil && !b.typ.Static() {
			b.typ = op.TypeOf(b.known.Value)
		}
		if b.known.Value == nil && b.known.Dims != nil {
			if d, ok := op.DimsValue(b.known.Dims, b.typ); ok && w.mode != walkInfer {
				b.known.Value = d
			}
		}
		if i < len(nodes) {
			b.node = nodes[i]
		}
		b.open = known[i].Value != nil && w.readsOpen(n, known[i].Dims == nil)
		w.env[v] = b
	}
}

// readsOpen reports whether a node reads something that is known only for the sizes of this lowering: an open value, or
// symbolic dimensions that the node does not pass on.
func (w *walker) readsOpen(n *Node, lost bool) bool {
	for _, v := range n.reads() {
		if b := w.env[v]; b != nil && (b.open || lost && slices.ContainsFunc(b.known.Dims, op.Dim.Symbolic)) {
			return true
		}
	}
	return false
}

// emit adds the node to the expression graph.
func (w *walker) emit(n *Node, c *op.Call, in []*Value, known []op.Known) error {
	nodes := make(gorgonia.Nodes, len(in))
	for i, v := range in {
		if v == nil {
			continue
		}
		var err error
		if nodes[i], err = w.nodeOf(v); err != nil {
			return located("lower", n, err)
		}
	}
	states := c.Moved()
	for _, u := range states { // a statistic shared by several nodes is updated by each in turn
		next, err := w.movedNode(in[u.In])
		if err != nil {
			return located("lower", n, err)
		}
		if next != nil {
			nodes[u.In] = next
		}
	}
	var extra gorgonia.Nodes
	if c.Random() && c.Op.Lower == nil {
		key, err := w.keyNode()
		if err != nil {
			return err
		}
		extra = gorgonia.Nodes{key}
	}
	out, err := op.EmitInto(op.Scope{
		Graph: w.expr, Train: c.Train, Ctx: w.ctx, Types: w.still, Key: w.keyNode,
		Update: func(i int, next *gorgonia.Node) { w.update(in, i, next) },
	}, c, nodes, extra...)
	if err != nil {
		return located("lower", n, err)
	}
	w.bind(n, c, known, out)
	for _, u := range states {
		node, err := op.Sibling(firstNode(out), u.Out)
		if err != nil {
			return located("lower", n, err)
		}
		w.update(in, u.In, node)
	}
	return nil
}

// update records that training replaces input i of a node, if it is a statistic of the model.
func (w *walker) update(in []*Value, i int, next *gorgonia.Node) {
	v := in[i]
	if v == nil || w.at(v).known.Frozen {
		return
	}
	if k := w.updated(v); k >= 0 {
		w.updates[k].node = next
		return
	}
	if v.param != nil || w.g.body != nil {
		w.updates = append(w.updates, stateUpdate{v, v.param, next})
	}
}

// movedNode returns the node of a statistic that an earlier node has moved; nil: none has.
func (w *walker) movedNode(v *Value) (*gorgonia.Node, error) {
	if k := w.updated(v); k >= 0 {
		return w.updates[k].node, nil
	}
	d := w.moved[v]
	if d == nil {
		return nil, nil
	}
	for _, m := range w.movedNodes {
		if m.value == v {
			return m.node, nil
		}
	}
	n, err := op.Input(w.expr, "moved "+w.nodeName(v), op.TypeOf(d), nil)
	w.movedNodes = append(w.movedNodes, boundNode{v, n})
	return n, err
}

// movedValue returns the value of a statistic that an earlier node has moved, nil if none has; wait: it is computed in this stage.
func (w *walker) movedValue(v *Value) (d dtype.Value, wait bool) {
	if k := w.updated(v); k >= 0 {
		n := w.updates[k].node
		return n.Value(), !op.IsConst(n) && !w.seeded
	}
	if d := w.moved[v]; d != nil {
		w.once = true
		return d, false
	}
	return nil, false
}

// updated returns the index of an earlier update of a value, -1 if there is none.
func (w *walker) updated(v *Value) int {
	return slices.IndexFunc(w.updates, func(u stateUpdate) bool { return u.value == v })
}

func firstNode(list gorgonia.Nodes) *gorgonia.Node {
	for _, n := range list {
		if n != nil {
			return n
		}
	}
	return nil
}

// keyNode returns the key of the random operators, an input: uint64[2], seed and step.
func (w *walker) keyNode() (*gorgonia.Node, error) {
	if w.outerKey != nil {
		return w.outerKey()
	}
	if w.key == nil {
		n, err := op.Input(w.expr, "random key", op.Shaped(dtype.Uint64, 2), dtype.New(dtype.Uint64, 2))
		if err != nil {
			return nil, err
		}
		w.key = n
	}
	return w.key, nil
}

// runKey returns the value of keyNode.
func (w *walker) runKey() ([2]uint64, error) {
	if w.outerKey == nil {
		return w.seed, nil
	}
	n, err := w.outerKey()
	if err != nil {
		return w.seed, err
	}
	if d, ok := n.Value().(*tensor.Dense); ok && op.IsConst(n) {
		return [2]uint64(dtype.Slice[uint64](d)), nil
	}
	return w.seed, nil
}

// nodeOf returns the expression node of a bound value.
func (w *walker) nodeOf(v *Value) (*gorgonia.Node, error) {
	b := w.at(v)
	if b == nil {
		return nil, &Error{Stage: "lower", Input: v.name, Err: errors.New("is not computed yet")}
	}
	if b.late != nil {
		if err := w.emitLate(b.late); err != nil { // binds the value anew
			return nil, err
		}
		b = w.at(v)
	}
	if b.node != nil {
		return b.node, nil
	}
	var err error
	switch {
	case b.item != nil:
		b.node, err = b.item.Pack(w.ctx, w.g.ops, w.expr)
	case v.param != nil:
		b.node, err = op.Input(w.expr, w.nodeName(v), b.typ, v.param.tensor())
		w.params[v.param] = b.node
	case b.known.Value != nil:
		if b.node, err = op.Const(w.expr, b.known.Value); err == nil && b.open && w.shown {
			b.node, err = asPreset(b.node, v)
		}
		if lost := w.lost[v]; lost != nil {
			w.lostNodes[b.node] = lost
		}
	case b.known.Dims != nil:
		d, ok := op.DimsValue(b.known.Dims, b.typ)
		if !ok {
			return nil, &Error{Stage: "lower", Input: v.name, Err: errors.New("has a dimension without a size")}
		}
		b.node, err = op.Const(w.expr, d)
	default:
		b.node, err = op.Input(w.expr, w.nodeName(v), b.typ, nil)
	}
	return b.node, err
}

func (w *walker) nodeName(v *Value) string { return "/" + v.name + w.suffix }

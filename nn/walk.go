package nn

import (
	"errors"
	"fmt"
	"slices"

	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// walkMode says what a walker does at each node.
type walkMode int

const (
	walkInfer walkMode = iota // types and shapes, symbols allowed
	walkLower                 // emit expression nodes; everything known is folded
	walkTrace                 // emit expression nodes for everything that has a static shape
)

// binding is what a walk knows of a value.
type binding struct {
	typ   op.Type
	known op.Known
	node  *gorgonia.Node // made when asked for, see nodeOf
	open  bool           // known, but only for the sizes of this lowering: it was computed from a symbolic shape
	soft  bool           // rests on what a file declares, which may be wrong, rather than on inference
}

// walker goes through nodes in topological order, infers types and, when lowering, emits them.
// A node whose types depend on values not known yet is deferred: it ends a stage.
type walker struct {
	g     *Graph
	mode  walkMode
	train bool
	env   map[*Value]*binding

	expr     *gorgonia.ExprGraph
	params   map[*Param]*gorgonia.Node
	key      *gorgonia.Node // of random operators
	updates  []stateUpdate
	suffix   string                 // keeps names of subgraphs apart from those around them
	have     map[*Value]dtype.Value // values at hand: what was fed and what earlier stages computed
	spec     map[*Value]dtype.Value // those of them that the lowering depends on
	deferred []*Node
	waiting  map[*Node]bool
	demanded map[*Value]error // what deferred nodes are waiting for
	missing  []*Node          // nodes graft has no operator for
	wrt      []*Value         // what is differentiated for: not folded, even if it looks constant
}

// stateUpdate says that after a training step the parameter takes the value of a node.
type stateUpdate struct {
	param *Param
	node  *gorgonia.Node
}

func newWalker(g *Graph, mode walkMode) *walker {
	return &walker{
		g: g, mode: mode, env: map[*Value]*binding{}, params: map[*Param]*gorgonia.Node{},
		have: map[*Value]dtype.Value{}, spec: map[*Value]dtype.Value{},
		waiting: map[*Node]bool{}, demanded: map[*Value]error{},
	}
}

// at is the binding of a value; parameters are bound when first met.
func (w *walker) at(v *Value) *binding {
	if b := w.env[v]; b != nil {
		return b
	}
	if v.param == nil {
		return nil
	}
	b := &binding{typ: op.TypeOf(v.param.Tensor())}
	if v.param.Role() == Constant && !slices.Contains(w.wrt, v) {
		b.known.Value = v.param.Tensor()
	}
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

func (w *walker) walk(nodes []*Node) error {
	for _, n := range nodes {
		if err := w.visit(n); err != nil {
			return err
		}
	}
	if len(w.missing) > 0 && w.mode != walkInfer {
		return unsupported(w.missing)
	}
	return nil
}

// reads are the values a node reads, captured ones last; nil where absent.
func (n *Node) reads() []*Value {
	if len(n.captured) == 0 {
		return n.in
	}
	return append(slices.Clone(n.in), n.captured...)
}

func (w *walker) visit(n *Node) error {
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
		err := c.Resolve()
		if err == nil {
			break
		}
		if w.mode == walkInfer && (unranked(c) || w.soft(in)) {
			w.bindPartly(n, c) // too little is certain for anything to be wrong yet
			return nil
		}
		i, need := op.Needs(err)
		if !need || i >= len(in) || in[i] == nil {
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
	return w.resolved(n, c, in)
}

// untyped says whether nothing is known of a value that is read: an unknown operator computes it.
func (w *walker) untyped(in []*Value) bool {
	for _, v := range in {
		if v != nil && (v.producer != nil || v.graph.body == nil) && !w.at(v).typ.Present() {
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
			c.Node = n.Label()
		}
		return &c
	}
	return &Error{Stage: stage, Op: n.opType, Node: n.Label(), Err: err}
}

// call makes the node's call, nil when an input is not bound yet.
func (w *walker) call(n *Node, in []*Value) *op.Call {
	c := &op.Call{
		Op: n.op, Config: n.config, Version: n.op.Version(w.g.opset(n.domain)), Opset: w.g.opset(n.domain), Node: n.Label(),
		In: make([]op.Type, len(in)), Known: make([]op.Known, len(in)), Outputs: len(n.out), Want: make([]bool, len(n.out)),
		Train: w.train && !n.frozenState(), Stream: stream(n),
	}
	if c.Version == 0 {
		c.Version = n.op.Since[0]
	}
	for i, v := range in {
		if v == nil {
			continue
		}
		b := w.at(v)
		if b == nil {
			return nil
		}
		c.In[i], c.Known[i] = b.typ, b.known
	}
	for i, v := range n.out {
		c.Want[i] = v != nil
	}
	return c
}

// opset is the operator-set version of a domain; subgraphs use that of the graph around them.
func (g *Graph) opset(domain string) int {
	if v, ok := g.Opsets[domain]; ok {
		return v
	}
	return 1
}

// frozenState says that running statistics of the node are frozen: it then works as in evaluation.
func (n *Node) frozenState() bool {
	formal := n.op.In.List()
	for i, v := range n.in {
		if s, _ := op.At(formal, i); v != nil && s.Role == op.State && v.param != nil && v.param.Frozen {
			return true
		}
	}
	return false
}

// stream numbers random operators by what they compute, so that an edit elsewhere changes no mask.
func stream(n *Node) uint64 {
	h := uint64(14695981039346656037)
	for _, v := range n.out {
		for _, c := range []byte(v.Name()) {
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

// bindPartly takes what Infer could tell before a value was missing, and what the file declared.
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
	if !lowerable(c) {
		return w.outsideGraph(n, c, in, known)
	}
	if allValues(c) && !c.Op.Random && w.mode == walkLower {
		if err := w.fold(c, known); err != nil {
			return located("lower", n, err)
		}
		w.bind(n, c, known, nil)
		return nil
	}
	if w.mode == walkTrace && small(c) {
		w.fold(c, known)
	}
	return w.emit(n, c, in, known)
}

// outsideGraph handles what has no static shape or is no tensor: it is computed at once when all
// its inputs are there, and ends a stage otherwise.
func (w *walker) outsideGraph(n *Node, c *op.Call, in []*Value, known []op.Known) error {
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
	if err := w.fold(c, known); err != nil {
		return located("lower", n, err)
	}
	w.bind(n, c, known, nil)
	return nil
}

// lowerable says whether all outputs are tensors of static shape.
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

// small says whether folding a call while inferring types is cheap enough.
func small(c *op.Call) bool {
	if c.Op.Random || !lowerable(c) || !allValues(c) || c.Op.Lower != nil {
		return false
	}
	for _, t := range append(slices.Clone(c.In), c.Out[:c.Outputs]...) {
		if t.Present() && (!t.Static() || t.Elements() > 1024) {
			return false
		}
	}
	return true
}

// fold computes a call whose inputs are all known and puts the values into known.
func (w *walker) fold(c *op.Call, known []op.Known) error {
	in := make([]dtype.Value, len(c.In))
	for i := range c.In {
		if !c.Has(i) {
			continue
		}
		v, err := c.Value(i)
		if err != nil {
			return err
		}
		in[i] = v
	}
	out, err := op.Eval(c, in)
	if err != nil {
		return err
	}
	for i, v := range out {
		if i < len(known) && v != nil {
			known[i].Value = v
		}
	}
	return nil
}

// bind records the outputs of a node.
func (w *walker) bind(n *Node, c *op.Call, known []op.Known, nodes gorgonia.Nodes) {
	for i, v := range n.out {
		if v == nil {
			continue
		}
		b := &binding{typ: c.Out[i], known: known[i], soft: w.mode == walkInfer && w.soft(n.reads())}
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

// readsOpen says whether a node reads what is known for the sizes of this lowering only: a value
// computed from such, or symbolic dimensions when the node does not carry them on.
func (w *walker) readsOpen(n *Node, lost bool) bool {
	for _, v := range n.reads() {
		if v == nil || w.env[v] == nil {
			continue
		}
		if w.env[v].open || lost && slices.ContainsFunc(w.env[v].known.Dims, op.Dim.Symbolic) {
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
	var extra gorgonia.Nodes
	if c.Op.Random {
		key, err := w.keyNode()
		if err != nil {
			return err
		}
		extra = gorgonia.Nodes{key}
	}
	out, err := op.Emit(w.expr, c, nodes, extra...)
	if err != nil {
		return located("lower", n, err)
	}
	w.bind(n, c, known, out)
	if c.Op.State == nil || !c.Train {
		return nil
	}
	for _, u := range c.Op.State(c) {
		if u.In >= len(in) || in[u.In] == nil || in[u.In].param == nil {
			continue
		}
		node, err := op.Sibling(firstNode(out), u.Out)
		if err != nil {
			return located("lower", n, err)
		}
		w.updates = append(w.updates, stateUpdate{in[u.In].param, node})
	}
	return nil
}

func firstNode(list gorgonia.Nodes) *gorgonia.Node {
	for _, n := range list {
		if n != nil {
			return n
		}
	}
	return nil
}

// keyNode is the input that random operators draw from: uint64[2], seed and step.
func (w *walker) keyNode() (*gorgonia.Node, error) {
	if w.key == nil {
		n, err := op.Input(w.expr, "random key", op.Shaped(dtype.Uint64, 2), dtype.New(dtype.Uint64, 2))
		if err != nil {
			return nil, err
		}
		w.key = n
	}
	return w.key, nil
}

// nodeOf is the expression node of a bound value.
func (w *walker) nodeOf(v *Value) (*gorgonia.Node, error) {
	b := w.at(v)
	if b == nil {
		return nil, &Error{Stage: "lower", Input: v.name, Err: errors.New("is not computed yet")}
	}
	if b.node != nil {
		return b.node, nil
	}
	var err error
	switch {
	case v.param != nil:
		b.node, err = op.Input(w.expr, w.nodeName(v), b.typ, v.param.Tensor())
		w.params[v.param] = b.node
	case b.known.Value != nil:
		if b.node, err = op.Const(w.expr, b.known.Value); err == nil && b.open {
			gorgonia.WithName(b.node.Name() + foldedMark + v.name)(b.node)
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

// demand is the value of v when it can be told before anything runs: because it is at hand, or
// because a short calculation on small values at hand gives it.
func (w *walker) demand(v *Value) (dtype.Value, bool, error) {
	b := w.at(v)
	if b == nil {
		return nil, false, nil
	}
	if b.known.Value != nil {
		return b.known.Value, true, nil
	}
	if b.known.Dims != nil {
		if d, ok := op.DimsValue(b.known.Dims, b.typ); ok {
			return d, true, nil
		}
	}
	if x, ok := w.have[v]; ok {
		w.spec[v] = x
		b.known.Value = x
		return x, true, nil
	}
	if v.param != nil {
		b.known.Value = v.param.Tensor()
		return b.known.Value, true, nil
	}
	budget := 256
	if v.producer == nil || !w.derivable(v, &budget, map[*Value]bool{}) {
		return nil, false, nil
	}
	x, err := w.derive(v)
	return x, err == nil, err
}

// derivable says whether v follows from values at hand of at most budget elements in total.
func (w *walker) derivable(v *Value, budget *int, seen map[*Value]bool) bool {
	if seen[v] {
		return true
	}
	seen[v] = true
	b := w.at(v)
	if b == nil {
		return false
	}
	if b.known.Value != nil || b.known.Dims != nil || v.param != nil {
		return true
	}
	if x, ok := w.have[v]; ok {
		*budget -= x.Size()
		return *budget >= 0
	}
	if v.producer == nil || v.producer.op == nil || v.producer.op.Random {
		return false
	}
	for _, x := range v.producer.reads() {
		if x != nil && !w.derivable(x, budget, seen) {
			return false
		}
	}
	return true
}

func (w *walker) derive(v *Value) (dtype.Value, error) {
	b := w.at(v)
	if b.known.Value != nil {
		return b.known.Value, nil
	}
	if x, ok, err := w.demandLeaf(v); ok || err != nil {
		return x, err
	}
	n := v.producer
	in := n.reads()
	for _, x := range in {
		if x == nil {
			continue
		}
		val, err := w.derive(x)
		if err != nil {
			return nil, err
		}
		w.at(x).known.Value = val
	}
	c := w.call(n, in)
	if err := c.Resolve(); err != nil {
		return nil, located("lower", n, err)
	}
	known := make([]op.Known, len(n.out))
	if err := w.fold(c, known); err != nil {
		return nil, located("lower", n, err)
	}
	for i, o := range n.out {
		if o != nil {
			w.at(o).known.Value = known[i].Value
		}
	}
	return b.known.Value, nil
}

func (w *walker) demandLeaf(v *Value) (dtype.Value, bool, error) {
	if _, ok := w.have[v]; ok || v.producer == nil || w.at(v).known.Dims != nil {
		return w.demand(v)
	}
	return nil, false, nil
}

func (w *walker) deferNode(n *Node) error {
	if w.mode == walkInfer {
		w.bindDeclared(n)
		return nil
	}
	w.deferred = append(w.deferred, n)
	w.waiting[n] = true
	return nil
}

// deferredError says what the first deferred node is waiting for.
func (w *walker) deferredError() error {
	for _, n := range w.deferred {
		for _, v := range n.reads() {
			if err := w.demanded[v]; err != nil {
				return err
			}
		}
	}
	n := w.deferred[0]
	return &Error{Stage: "lower", Op: n.opType, Node: n.Label(), Err: errors.New("an input is not computed")}
}

// unsupported lists every node that graft has no operator for, in one error.
func unsupported(nodes []*Node) error {
	type kind struct{ domain, name string }
	var order []kind
	where := map[kind][]string{}
	for _, n := range nodes {
		k := kind{n.domain, n.opType}
		if where[k] == nil {
			order = append(order, k)
		}
		where[k] = append(where[k], n.Label())
	}
	var parts []string
	for _, k := range order {
		name := k.name
		if k.domain != "" {
			name = k.domain + "." + name
		}
		parts = append(parts, fmt.Sprintf("%s (%s)", name, joinSome(where[k], 5)))
	}
	return &Error{Stage: "lower", Err: fmt.Errorf("unsupported operators: %s", joinSome(parts, len(parts)))}
}

func joinSome(list []string, most int) string {
	s := ""
	for i, x := range list {
		if i == most {
			return fmt.Sprintf("%s and %d more", s, len(list)-most)
		}
		if i > 0 {
			s += ", "
		}
		s += x
	}
	return s
}

var _ = tensor.Shape(nil)

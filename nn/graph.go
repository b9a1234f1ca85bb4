package nn

import (
	"iter"
	"slices"
	"strings"

	"github.com/graft-ml/graft/internal/engine"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"gorgonia.org/tensor"
)

// Error is graft's error: stage, operator, node, input, wanted and got, on one line.
type Error = op.Error

// Graph is a model, or a subgraph inside a node of one (see Body).
type Graph struct {
	Name, Doc string
	Meta      map[string]string
	Opsets    map[string]int // operator-set version of each domain; "" is ai.onnx
	Origin    any            // what a file said beyond this; kept for saving by the package that loaded it

	mu      editLock
	ops     op.Set
	nodes   []*Node // topological
	inputs  []*Value
	outputs []*Value
	naming
	body    *Body // set when this is the graph of a subgraph attribute
	edit    *Edit // the transaction under way
	version int
	changes []Change
	cache   cache
	unfused bool // runs every node by itself: for tests
}

// Node is one use of an operator.
type Node struct {
	name     string
	domain   string
	opType   string
	doc      string
	op       *op.Op    // nil: unknown, kept as it is
	config   op.Config // nil when op is
	in       []*Value  // nil where an optional input is absent
	captured []*Value  // outer values read by subgraph attributes, see Body
	out      []*Value  // nil where an output has no name
	graph    *Graph
	origin   any
	fresh    bool // made or changed by an edit: its attributes come from config, not from origin
}

// Value is an edge: what a node computes, a graph input or a parameter.
type Value struct {
	name     string
	typ      op.Type
	known    op.Known
	producer *Node
	index    int // which output of the producer
	param    *Param
	input    bool
	users    []*Node // each once, in no particular order
	graph    *Graph
	origin   any
}

// Param is a tensor that belongs to the model: a weight, a running statistic or a constant.
type Param struct {
	Data   *tensor.Dense // shared by every lowering; nil for a tensor of strings; see Changed
	Text   *dtype.Strings
	Frozen bool // not trained

	role  *Role // set by hand; nil: see Role
	value *Value
	kept  *engine.Kept // what kernels derived from Data; forks share it as they share Data
}

// New is an empty model at the latest operator-set version.
func New(name string) *Graph {
	return NewGraph(name, op.Standard(), map[string]int{"": LatestOpset})
}

// LatestOpset is the operator-set version that new models are written in. ONNX Runtime 1.30
// and PyTorch's tools read it.
const LatestOpset = 21

// NewGraph is an empty model with its own set of operators and operator-set versions; Opsets maps
// domains to versions.
func NewGraph(name string, ops op.Set, opsets map[string]int) *Graph {
	return &Graph{Name: name, Meta: map[string]string{}, Opsets: opsets, ops: ops, naming: naming{values: map[string]*Value{}}}
}

// Ops is the set of operators that the graph knows.
func (g *Graph) Ops() op.Set { return g.ops }

// Inputs are the values a run must be given, in order.
func (g *Graph) Inputs() []*Value { return slices.Clone(g.inputs) }

// Outputs are the values a run returns, in order.
func (g *Graph) Outputs() []*Value { return slices.Clone(g.outputs) }

// Version counts the edits that were applied.
func (g *Graph) Version() int {
	g.mu.RLock()
	defer g.mu.RUnlock()
	return g.version
}

// Nodes lists the nodes that all selectors accept, in topological order. The order is a
// snapshot: editing inside the loop is fine.
func (g *Graph) Nodes(sel ...Selector) iter.Seq[*Node] {
	g.mu.RLock()
	if g.edit != nil {
		g.edit.sortNodes()
	}
	list := slices.Clone(g.nodes)
	g.mu.RUnlock()
	return func(yield func(*Node) bool) {
		for _, n := range list {
			if all(sel, n) && !yield(n) {
				return
			}
		}
	}
}

// Params lists the parameters in the order of the nodes that read them first; unread ones follow.
func (g *Graph) Params() iter.Seq[*Param] {
	g.mu.RLock()
	defer g.mu.RUnlock()
	return slices.Values(g.params())
}

func (g *Graph) params() []*Param {
	var list []*Param
	seen := map[*Param]bool{}
	add := func(v *Value) {
		if v != nil && v.param != nil && !seen[v.param] {
			seen[v.param] = true
			list = append(list, v.param)
		}
	}
	for _, n := range g.nodes {
		for _, v := range n.in {
			add(v)
		}
		for _, v := range n.captured {
			add(v)
		}
	}
	var rest []*Value
	for _, v := range g.values {
		if v.param != nil && !seen[v.param] {
			rest = append(rest, v)
		}
	}
	slices.SortFunc(rest, func(a, b *Value) int { return strings.Compare(a.name, b.name) })
	for _, v := range rest {
		add(v)
	}
	return list
}

// Name is the node's name, a hint: it may be empty or not unique.
func (n *Node) Name() string {
	if n == nil {
		return ""
	}
	return n.name
}

// Label is the node's name, or that of its first output if it has none.
func (n *Node) Label() string {
	if n == nil {
		return ""
	}
	if n.name != "" {
		return n.name
	}
	for _, v := range n.out {
		if v != nil {
			return v.name
		}
	}
	return n.opType
}

// Type is the operator's name: Conv.
func (n *Node) Type() string {
	if n == nil {
		return ""
	}
	return n.opType
}

// Domain is the operator's domain, "" for the standard one.
func (n *Node) Domain() string {
	if n == nil {
		return ""
	}
	return n.domain
}

// Op is the operator, nil when graft does not know it.
func (n *Node) Op() *op.Op {
	if n == nil {
		return nil
	}
	return n.op
}

// Config is the operator with its attributes, nil when graft does not know it.
func (n *Node) Config() op.Config {
	if n == nil {
		return nil
	}
	return n.config
}

// Inputs are the values the node reads; nil where an optional one is absent.
func (n *Node) Inputs() []*Value {
	if n == nil {
		return nil
	}
	return slices.Clone(n.in)
}

// In is input i, nil when absent.
func (n *Node) In(i int) *Value {
	if n == nil || i < 0 || i >= len(n.in) {
		return nil
	}
	return n.in[i]
}

// Captured are the outer values that the node's subgraphs read.
func (n *Node) Captured() []*Value {
	if n == nil {
		return nil
	}
	return slices.Clone(n.captured)
}

// Outputs are the values the node computes; nil where it has no name.
func (n *Node) Outputs() []*Value {
	if n == nil {
		return nil
	}
	return slices.Clone(n.out)
}

// Out is output i, nil when absent.
func (n *Node) Out(i int) *Value {
	if n == nil || i < 0 || i >= len(n.out) {
		return nil
	}
	return n.out[i]
}

// Origin is what a file said about the node; Fresh says that an edit made or changed it since.
func (n *Node) Origin() any { return n.origin }

// Fresh says whether the node's attributes are those of Config rather than those of Origin.
func (n *Node) Fresh() bool { return n.fresh }

// Doc is the node's documentation in the file.
func (n *Node) Doc() string { return n.doc }

// Name is the value's name, unique in its graph.
func (v *Value) Name() string {
	if v == nil {
		return ""
	}
	return v.name
}

// Type is the value's type and shape as far as known.
func (v *Value) Type() op.Type {
	if v == nil {
		return op.Type{}
	}
	return v.typ
}

// Known is what is known of the value before anything runs, shapes above all.
func (v *Value) Known() op.Known {
	if v == nil {
		return op.Known{}
	}
	return v.known
}

// Producer is the node that computes the value, nil for inputs and parameters.
func (v *Value) Producer() *Node {
	if v == nil {
		return nil
	}
	return v.producer
}

// Param is the parameter behind the value, nil if it is computed or an input.
func (v *Value) Param() *Param {
	if v == nil {
		return nil
	}
	return v.param
}

// IsInput says whether the value is an input of its graph.
func (v *Value) IsInput() bool { return v != nil && v.input }

// Users are the nodes that read the value, in topological order.
func (v *Value) Users() []*Node {
	if v == nil {
		return nil
	}
	if len(v.users) < 2 {
		return slices.Clone(v.users)
	}
	set := map[*Node]bool{}
	for _, n := range v.users {
		set[n] = true
	}
	var list []*Node
	for _, n := range v.graph.nodes {
		if set[n] {
			list = append(list, n)
		}
	}
	return list
}

// Origin is what a file said about the value.
func (v *Value) Origin() any { return v.origin }

// Graph is the graph the value belongs to.
func (v *Value) Graph() *Graph {
	if v == nil {
		return nil
	}
	return v.graph
}

// Role tells what a parameter is for.
type Role string

// The roles of parameters.
const (
	Weight    Role = "weight"    // trained unless frozen
	Statistic Role = "statistic" // running mean or variance: changed by its own rule
	Constant  Role = "constant"
)

// Name is the name of the parameter's value.
func (p *Param) Name() string {
	if p == nil {
		return ""
	}
	return p.value.Name()
}

// Value is the graph's value that the parameter stands behind.
func (p *Param) Value() *Value {
	if p == nil {
		return nil
	}
	return p.value
}

// Tensor is the parameter's tensor, of numbers or strings.
func (p *Param) Tensor() dtype.Value {
	if p.Text != nil {
		return p.Text
	}
	return p.Data
}

// Role is what the operators that read the parameter use it for: a floating-point tensor of rank
// one or more in a weight slot is a weight, one in a state slot a statistic, the rest constants.
// Edit.SetRole overrides.
func (p *Param) Role() Role {
	if p.role != nil {
		return *p.role
	}
	if p.Data == nil || !dtype.Of(p.Data.Dtype()).IsFloat() {
		return Constant
	}
	role := p.value.paramRole(nil)
	if role == Weight && p.value.typ.Rank() == 0 {
		return Constant
	}
	return role
}

// paramRole is what the users of v make of it.
func (v *Value) paramRole(seen map[*Value]bool) Role {
	if seen[v] {
		return Constant
	}
	if seen != nil {
		seen[v] = true
	}
	role := Constant
	for _, n := range v.users {
		switch r := n.roleOf(v, seen); {
		case r == Statistic:
			return Statistic
		case r == Weight:
			role = Weight
		}
	}
	return role
}

// roleOf is what node n uses v for. Identity and subgraphs pass the question on.
func (n *Node) roleOf(v *Value, seen map[*Value]bool) Role {
	if n.op == nil {
		return Constant
	}
	formal := n.op.In.List()
	role := Constant
	for i, x := range n.in {
		if x != v {
			continue
		}
		s, _ := op.At(formal, i)
		switch s.Role {
		case op.State:
			return Statistic
		case op.Weight:
			if n.weighs(i) {
				role = Weight
			}
		}
	}
	if passesOn[n.opType] && seen == nil {
		seen = map[*Value]bool{v: true}
	}
	if passesOn[n.opType] && len(n.out) > 0 && n.out[0] != nil {
		return n.out[0].paramRole(seen)
	}
	for _, b := range n.bodies() {
		for k, o := range b.outer {
			if n.capturedBy(b, k) == v {
				if r := o.paramRole(seen); r != Constant {
					role = r
				}
			}
		}
	}
	return role
}

// passesOn names the operators behind which a parameter is still the same parameter.
var passesOn = map[string]bool{"Identity": true, "Transpose": true, "Reshape": true, "Unsqueeze": true, "Squeeze": true, "Concat": true, "Slice": true, "Cast": true, "Expand": true, "Tile": true}

// Trainable says whether training changes the parameter.
func (p *Param) Trainable() bool { return !p.Frozen && p.Role() == Weight }

// Changed says that elements of Data were written in place. Runs keep weights in the order in which
// kernels read them best, and make it anew after this. SetData, edits and trainers call it by
// themselves; who writes into Data calls it before the next run.
func (p *Param) Changed() { p.kept.Changed() }

// Size is the number of elements.
func (p *Param) Size() int {
	if p.Text != nil {
		return p.Text.Size()
	}
	if p.Data == nil {
		return 0
	}
	n := 1
	for _, d := range p.Data.Shape() {
		n *= d
	}
	return n
}

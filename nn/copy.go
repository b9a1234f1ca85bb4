package nn

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/graft-ml/graft/internal/budget"
	"github.com/graft-ml/graft/internal/engine"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"gorgonia.org/tensor"
)

// BodyOrigin is implemented by the Origin of a node if it refers to the node's subgraphs, so that a copy of the node gets
// an Origin that refers to the copies.
type BodyOrigin interface {
	// WithBodies returns the origin with every subgraph replaced by the result of of.
	WithBodies(of func(*Body) *Body) any
}

// Clone returns a deep copy: weights, subgraphs, names, operator-set versions, metadata, and what is kept of the file.
// The journal of the copy is empty. It is an error if the weights do not fit in memory.
func (g *Graph) Clone() (*Graph, error) {
	defer g.locked().unlock()
	var taken budget.Tally
	defer taken.Free()
	if err := taken.Add(g.footprint()); err != nil {
		return nil, &Error{Stage: "copy", Err: fmt.Errorf("%d nodes: %w", len(g.nodes()), err)}
	}
	c := newCopier(false)
	to := c.graph(g, g.ops, maps.Clone(g.opsets))
	if c.err != nil {
		return nil, c.err
	}
	budget.Transfer(&taken, to)
	return to, nil
}

// Fork returns a copy of the graph that shares the tensors of the parameters: nodes can be added to it, for example a
// loss, and training it trains the original. The map leads from the parameters of the copy, those of subgraphs included,
// to those of the original. Its nodes count for the memory limit, beyond it too. A tensor that either graph replaces (by SetData or a resize) is no longer shared.
func (g *Graph) Fork() (*Graph, map[*Param]*Param) {
	g.there()
	return g.ForkWith(g.ops)
}

// ForkUntil is Fork, ended by ctx, with its error.
func (g *Graph) ForkUntil(ctx context.Context) (*Graph, map[*Param]*Param, error) {
	g.there()
	defer g.locked().unlock()
	c := newCopier(true)
	c.watch = &watch{ctx: ctx}
	to := c.graph(g, g.ops, maps.Clone(g.opsets))
	if c.err != nil {
		return nil, nil, c.err
	}
	budget.Count(to, g.footprint())
	return to, c.origin, nil
}

// ForkWith is Fork with another set of operators, in which the operators of nodes are looked up by name.
func (g *Graph) ForkWith(ops op.Set) (*Graph, map[*Param]*Param) {
	g.there()
	defer g.locked().unlock()
	c := newCopier(true)
	to := c.graph(g, ops, maps.Clone(g.opsets))
	budget.Count(to, g.footprint())
	return to, c.origin
}

// What a copy takes besides the elements of tensors, in bytes.
const (
	copiedGraph = 1 << 10
	copiedNode  = 1 << 9
	copiedValue = 1 << 8
	countedFrom = 1 << 16 // less is not charged
)

// footprint returns about how many bytes a copy of g takes besides the elements of tensors, 0 if they are few.
func (g *Graph) footprint() int64 {
	if n := g.size(); n >= countedFrom {
		return n
	}
	return 0
}

func (g *Graph) size() int64 {
	n := int64(copiedGraph + copiedNode*len(g.nodes()) + copiedValue*len(g.values))
	for _, x := range g.nodes() {
		for _, b := range x.bodies() {
			n += b.Graph.size()
		}
	}
	return n
}

// copier copies graphs, nodes and values, and maps originals to copies.
type copier struct {
	share  bool // tensors are shared rather than copied
	values map[*Value]*Value
	nodes  map[*Node]*Node
	origin map[*Param]*Param // from each copy to its original
	bodies map[*Body]*Body
	opsets map[uintptr]map[string]int // copies of operator-set versions, by the identity of the original map
	err    error                      // of the first weights that do not fit in memory, or of ctx: nothing is copied after it
	watch  *watch                     // ends copying; nil: nothing does
}

func newCopier(share bool) *copier {
	return &copier{
		share: share, values: map[*Value]*Value{}, nodes: map[*Node]*Node{},
		origin: map[*Param]*Param{}, bodies: map[*Body]*Body{}, opsets: map[uintptr]map[string]int{},
	}
}

// identity tells maps of operator-set versions apart: a subgraph shares that of the graph around it, the body of a
// function has its own.
func identity(opsets map[string]int) uintptr { return reflect.ValueOf(opsets).Pointer() }

// graph copies all of g. Graphs that shared one map of operator-set versions do so as copies.
func (c *copier) graph(g *Graph, ops op.Set, opsets map[string]int) *Graph {
	c.opsets[identity(g.opsets)] = opsets
	to := c.shell(g, ops, opsets)
	for _, v := range g.values {
		if c.ended() {
			return to
		}
		c.value(to, v)
	}
	for _, n := range g.nodes() {
		if c.ended() {
			return to
		}
		c.node(to, n)
	}
	to.inputs, to.outputs = c.list(g.inputs), c.list(g.outputs)
	return to
}

// ended looks at the context, every so many nodes or values, and reports whether it has ended.
func (c *copier) ended() bool {
	if c.watch.ended() && c.err == nil {
		c.err = c.watch.err
	}
	return c.watch != nil && c.err != nil
}

// shell returns a copy of g without nodes and values.
func (c *copier) shell(g *Graph, ops op.Set, opsets map[string]int) *Graph {
	to := NewGraph(g.name, ops, opsets)
	to.doc, to.meta, to.origin = g.doc, maps.Clone(g.meta), g.origin
	return to
}

// value adds the copy of v to the graph; its producer is set when the node is copied.
func (c *copier) value(to *Graph, v *Value) *Value {
	if v == nil {
		return nil
	}
	if x := c.values[v]; x != nil {
		return x
	}
	x := &Value{name: v.name, typ: v.typ, known: v.known, index: v.index, input: v.input, graph: to, origin: v.origin}
	if v.param != nil {
		x.param = c.param(v.param)
		x.param.value = x
		if v.known.Value != nil {
			x.known.Value = x.param.tensor()
		}
	}
	c.values[v] = x
	to.values[x.name] = x
	return x
}

func (c *copier) param(p *Param) *Param {
	x := &Param{data: p.data, text: p.text, frozen: p.frozen, mask: p.mask, kept: p.kept}
	if !c.share {
		x.data, x.text, x.kept = c.tensor(p), copyText(p.text), new(engine.WeightCache)
	}
	if p.role != nil {
		r := *p.role
		x.role = &r
	}
	c.origin[x] = p
	return x
}

func (c *copier) tensor(p *Param) *tensor.Dense {
	if p.data == nil || c.err != nil {
		return nil
	}
	d, err := engine.CopyHeld(p.data)
	if err != nil {
		c.err = &Error{Stage: "copy", Err: fmt.Errorf("parameter %q: %w", p.id(), err)}
	}
	return d
}

func copyText(t *dtype.Strings) *dtype.Strings {
	if t == nil {
		return nil
	}
	x := *t
	x.Dims, x.Elems = slices.Clone(t.Dims), slices.Clone(t.Elems)
	return &x
}

// node adds the copy of n, its outputs and its subgraphs. Values that it reads and that have not been copied
// are copied as values without a producer.
func (c *copier) node(to *Graph, n *Node) *Node {
	x := &Node{name: n.name, domain: n.domain, opType: n.opType, doc: n.doc, op: n.op, config: n.config, graph: to, origin: n.origin, fresh: n.fresh, annotations: n.annotations}
	if o := to.ops.Find(n.domain, n.opType); o != nil && n.op != nil {
		x.op = o
	}
	c.nodes[n] = x
	c.opsets[identity(n.graph.opsets)] = to.opsets
	for _, v := range n.in {
		x.in = append(x.in, c.value(to, v))
	}
	for _, v := range n.captured {
		x.captured = append(x.captured, c.value(to, v))
	}
	for _, v := range n.out {
		o := c.value(to, v)
		if o != nil {
			o.producer = x
		}
		x.out = append(x.out, o)
	}
	c.subgraphs(to, x)
	x.useAll()
	to.listNode(x)
	to.relabel(x.name, 1)
	return x
}

// subgraphs replaces the bodies of the node, which are still those of the original, by copies.
func (c *copier) subgraphs(to *Graph, n *Node) {
	if b, ok := n.origin.(BodyOrigin); ok {
		n.origin = b.WithBodies(func(b *Body) *Body { return c.body(to, b) })
	}
	if len(n.bodies()) == 0 {
		return
	}
	v := reflect.New(reflect.TypeOf(n.config)).Elem()
	v.Set(reflect.ValueOf(n.config))
	for i := range v.NumField() {
		if b, ok := v.Field(i).Interface().(*Body); ok && b != nil {
			v.Field(i).Set(reflect.ValueOf(c.body(to, b)))
		}
	}
	n.config = v.Interface().(op.Config)
	n.adopt()
}

func (c *copier) body(to *Graph, b *Body) *Body {
	if b == nil {
		return nil
	}
	if x := c.bodies[b]; x != nil {
		return x
	}
	opsets := c.opsets[identity(b.Graph.opsets)]
	if opsets == nil {
		opsets = maps.Clone(b.Graph.opsets)
	}
	g := c.graph(b.Graph, to.ops, opsets)
	x := NewBody(g, c.list(b.outer))
	c.bodies[b] = x
	return x
}

func (c *copier) list(vs []*Value) []*Value {
	var out []*Value
	for _, v := range vs {
		out = append(out, c.values[v])
	}
	return out
}

package nn

import (
	"iter"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/std"
)

// Error is the type of graft's errors: stage, operator, node, input, what was wanted and what was found instead, on one
// line.
type Error = op.Error

// The sentinel errors that an Error matches with errors.Is: see package op.
var (
	ErrNotFound    = op.ErrNotFound
	ErrUnsupported = op.ErrUnsupported
	ErrInput       = op.ErrInput
	ErrShape       = op.ErrShape
)

// Graph is a model, or a subgraph inside a node of one (see Body). The zero Graph is empty; its first edit makes it one of New("").
type Graph struct {
	name, doc string
	meta      map[string]string
	opsets    map[string]int // operator-set version of each domain; "" is ai.onnx
	origin    any

	mu      editLock
	around  atomic.Pointer[Graph] // of a subgraph: the graph of the node that has it
	ops     op.Set
	inputs  []*Value
	outputs []*Value
	nodeList
	naming
	body    *Body // set when this is the graph of a subgraph attribute
	edit    *Edit // the transaction under way
	version int
	journal journal
	cache   cache
	data    dataCache
	unfused bool // runs every node by itself: for tests
}

// New returns an empty model with the standard operators, at operator set LatestOpset.
func New(name string) *Graph {
	return NewGraph(name, std.Operators(), map[string]int{"": LatestOpset})
}

// LatestOpset is the operator-set version of models made by New. ONNX Runtime 1.30 and PyTorch's tools read it.
const LatestOpset = 21

// NewGraph returns an empty model with the given operators and operator-set versions; opsets maps domains to
// versions.
func NewGraph(name string, ops op.Set, opsets map[string]int) *Graph {
	return &Graph{name: name, meta: map[string]string{}, opsets: opsets, ops: ops, naming: naming{values: map[string]*Value{}}}
}

// Ops returns the set of operators that the graph knows.
func (g *Graph) Ops() op.Set {
	g.there()
	return g.ops
}

// useOps gives a subgraph the operators of the enclosing graph; operators known only to the subgraph remain.
func (g *Graph) useOps(ops op.Set) {
	g.ops = ops.Union(g.ops)
	for _, n := range g.nodes() {
		if n.op != nil {
			n.op = g.ops.Find(n.domain, n.opType)
		}
		for _, b := range n.bodies() {
			b.Graph.useOps(ops)
		}
	}
}

// Inputs returns the values that Run takes, in order.
func (g *Graph) Inputs() []*Value {
	g.there()
	defer g.locked().unlock()
	return slices.Clone(g.inputs)
}

// Outputs returns the values that Run returns, in order.
func (g *Graph) Outputs() []*Value {
	g.there()
	defer g.locked().unlock()
	return slices.Clone(g.outputs)
}

// Version returns the number of edits that have been applied.
func (g *Graph) Version() int {
	g.there()
	defer g.locked().unlock()
	return g.version
}

// Nodes iterates over the nodes that all selectors accept, in topological order. It iterates over a snapshot, so the loop
// may edit the graph. A selector before or after a node that was removed accepts none.
func (g *Graph) Nodes(sel ...Selector) iter.Seq[*Node] {
	g.there()
	lock := g.locked()
	list := slices.Clone(g.nodes())
	lock.unlock()
	return func(yield func(*Node) bool) {
		for _, n := range list {
			if ok, err := accepted(sel, n); err != nil || ok && !yield(n) {
				return
			}
		}
	}
}

// Params iterates over the parameters in the order of the nodes that first read them, followed by those that no node
// reads.
func (g *Graph) Params() iter.Seq[*Param] {
	g.there()
	defer g.locked().unlock()
	return slices.Values(g.params())
}

func (g *Graph) params() []*Param {
	var list []*Param
	seen := map[*Param]bool{}
	add := func(v *Value) {
		if p := v.held(); p != nil && !seen[p] {
			seen[p] = true
			list = append(list, p)
		}
	}
	for _, n := range g.nodes() {
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

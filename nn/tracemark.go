package nn

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/graft-ml/graft/nn/op"
	"gorgonia.org/gorgonia"
)

// Annotate returns layer with annotations: when it is traced, its first node gets them, as Edit.Annotate sets them. They
// do not affect what is computed, and have no effect if the function is not traced. Annotations of nested calls are
// merged; the inner ones win.
func Annotate(a Annotations, layer Expr) Expr {
	return marked(traceMark{annotations: a, first: true}, layer)
}

// Apply returns f with annotations: when it is traced, all of its nodes get them, including those in the bodies of loops
// and branches. See Annotate for the rest.
func Apply(f Expr, a Annotations) Expr { return marked(traceMark{annotations: a}, f) }

// Anchor returns x. When the function is traced, an Identity named Anchor, Anchor_1 and so on, with the given
// annotations, is added after x; see Edit.Anchor.
func Anchor(x *gorgonia.Node, a Annotations) (*gorgonia.Node, error) {
	if x == nil {
		return nil, &Error{Stage: "trace", Op: "Anchor", Err: errors.New("the value is nil")}
	}
	label := "Anchor"
	for i := 1; hasMark(x.Graph(), label); i++ {
		label = fmt.Sprintf("Anchor_%d", i)
	}
	return anchor(x, label, a)
}

// ScopedAnchor returns layer with anchors: when it is traced, an Identity is added before its first input and another
// after its first result, named Anchor_N_start and Anchor_N_end, where N counts scopes from 0. Both have the given
// annotations; see Edit.ScopedAnchor.
func ScopedAnchor(a Annotations, layer Expr) Expr {
	return func(x ...*gorgonia.Node) (gorgonia.Nodes, error) {
		if layer == nil || len(x) == 0 || x[0] == nil {
			return nil, &Error{Stage: "trace", Op: "ScopedAnchor", Err: errors.New("needs a function and a value")}
		}
		scope := 0
		for hasMark(x[0].Graph(), fmt.Sprintf("Anchor_%d_start", scope)) {
			scope++
		}
		start, err := anchor(x[0], fmt.Sprintf("Anchor_%d_start", scope), a)
		if err != nil {
			return nil, err
		}
		out, err := call(layer, append(gorgonia.Nodes{start}, x[1:]...))
		if err != nil {
			return nil, err
		}
		end, err := anchor(out[0], fmt.Sprintf("Anchor_%d_end", scope), a)
		return append(gorgonia.Nodes{end}, out[1:]...), err
	}
}

// AsOutput returns x. When the function is traced, x also becomes an output of the graph under the given name, through an
// Identity and after the outputs that the function returns; see Edit.AsOutput. It is an error inside a loop or a branch.
func AsOutput(name string, x *gorgonia.Node) (*gorgonia.Node, error) {
	if x == nil || name == "" {
		return nil, &Error{Stage: "trace", Op: "AsOutput", Err: errors.New("needs a name and a value")}
	}
	return x, traceMark{nodes: gorgonia.Nodes{x}, output: name}.add(x.Graph())
}

// traceMark annotates nodes of a traced function. It is the value of a separate node in their expression graph, which
// has no readers; Gorgonia's machines treat it as a number.
type traceMark struct {
	*gorgonia.F64
	nodes       gorgonia.Nodes
	annotations Annotations
	first       bool   // for the first of them only
	label       string // of an anchor
	output      string // of the graph
}

// Clone implements gorgonia's interface for values that machines copy.
func (m *traceMark) Clone() (any, error) { return m, nil }

func (m traceMark) add(g *gorgonia.ExprGraph) error {
	for key, v := range m.annotations {
		if _, err := checked(key, v); err != nil {
			return &Error{Stage: "trace", Err: err}
		}
	}
	m.F64, m.annotations = gorgonia.NewF64(0), maps.Clone(m.annotations)
	n := gorgonia.NewScalar(g, gorgonia.Float64, gorgonia.WithName(fmt.Sprintf("graft mark %d", len(g.AllNodes()))))
	return gorgonia.Let(n, &m)
}

// marksOf returns the marks of an expression graph, in order.
func marksOf(g *gorgonia.ExprGraph) (list []*traceMark) {
	if g == nil { // of constants, which are not in a graph
		return nil
	}
	for _, n := range g.AllNodes() {
		if m, ok := n.Value().(*traceMark); ok && n.IsVar() {
			list = append(list, m)
		}
	}
	return list
}

func hasMark(g *gorgonia.ExprGraph, label string) bool {
	return slices.ContainsFunc(marksOf(g), func(m *traceMark) bool { return m.label == label })
}

// marked returns f with a mark on the nodes that it adds to the expression graph.
func marked(m traceMark, f Expr) Expr {
	return func(x ...*gorgonia.Node) (gorgonia.Nodes, error) {
		if f == nil || len(x) == 0 || x[0] == nil {
			return nil, &Error{Stage: "trace", Op: "Annotate", Err: errors.New("needs a function and a value")}
		}
		g := x[0].Graph()
		before := map[*gorgonia.Node]bool{}
		for _, n := range g.AllNodes() {
			before[n] = true
		}
		out, err := call(f, x)
		if err != nil {
			return nil, err
		}
		m := m
		for _, n := range g.AllNodes() {
			if !before[n] && !holdsValue(n) {
				m.nodes = append(m.nodes, n)
			}
		}
		return out, m.add(g)
	}
}

// anchor adds an Identity with a unique label.
func anchor(x *gorgonia.Node, label string, a Annotations) (*gorgonia.Node, error) {
	c, err := Tracer{}.ops().NewCall(op.Plain("Identity"), op.NodeType(x))
	if err != nil {
		return nil, err
	}
	c.Node = label
	if err := c.Resolve(); err != nil {
		return nil, err
	}
	out, err := op.Emit(x.Graph(), c, gorgonia.Nodes{x})
	if err != nil {
		return nil, err
	}
	return out[0], traceMark{nodes: out, annotations: a, label: label}.add(x.Graph())
}

// reading passes the marks of an expression graph to the tracer.
func (t *tracer) reading(g *gorgonia.ExprGraph) {
	for _, m := range marksOf(g) {
		t.order = append(t.order, m)
		for _, n := range m.nodes {
			t.mark(n, m)
		}
	}
}

// mark marks a node, and the nodes in its subgraphs.
func (t *tracer) mark(n *gorgonia.Node, m *traceMark) {
	t.marks[n] = append(t.marks[n], m)
	if c, _, i, ok := op.CallOf(n); ok && i == 0 && m.output == "" {
		for _, b := range configBodies(c.Config) {
			if b.made == nil {
				continue
			}
			for _, k := range b.made.inner {
				t.mark(k, m)
			}
		}
	}
}

// claim records that the nodes added since the last call belong to the current site.
func (t *tracer) claim() {
	nodes := t.e.g.nodes()
	if t.site != nil {
		for _, m := range t.marks[t.site.at[0]] {
			for _, n := range nodes[t.claimed:] {
				t.made[m] = append(t.made[m], n)
				if m.label != "" {
					t.anchors[n] = true
				}
			}
		}
	}
	t.claimed = len(nodes)
}

// behindAnchors moves the name of a value with anchors after it to the output of the last anchor. "": there are none.
func (t *tracer) behindAnchors(v *Value) string {
	at := v
	for at.producer != nil && t.anchors[at.producer] {
		at = at.producer.in[0]
	}
	if at == v || at.producer == nil || slices.Contains(t.e.g.outputs, at) {
		return ""
	}
	name := at.name
	t.e.RenameValue(at, t.e.unique(name))
	return name
}

// annotate annotates the nodes that marked nodes were translated to.
func (t *tracer) annotate() {
	if t.e.err != nil {
		return
	}
	t.e.sortNodes()
	for _, m := range t.order { // inner marks first
		made := t.made[m]
		if m.first && len(made) > 0 {
			made = []*Node{slices.MinFunc(made, func(a, b *Node) int { return cmp.Compare(t.rank(a), t.rank(b)) })}
		}
		for _, n := range made {
			a := maps.Clone(m.annotations)
			maps.DeleteFunc(a, func(key string, _ any) bool { _, ok := n.annotations[key]; return ok })
			t.e.annotate(n, a)
		}
	}
}

// rank returns the position of a node in its graph; nodes of subgraphs follow all others.
func (t *tracer) rank(n *Node) int {
	if t.e.g.lists(n) {
		return n.at
	}
	return len(t.e.g.nodes())
}

// asked declares the outputs requested by AsOutput, for each of the expression graphs.
func (t *tracer) asked(graphs []*gorgonia.ExprGraph) {
	var list [][]*traceMark
	for _, g := range graphs {
		list = append(list, slices.DeleteFunc(marksOf(g), func(m *traceMark) bool { return m.output == "" }))
	}
	for _, marks := range list {
		if !slices.EqualFunc(list[0], marks, func(a, b *traceMark) bool { return a.output == b.output }) {
			t.e.Failf("which values are outputs depends on a symbol")
			return
		}
	}
	for i, m := range list[0] {
		at := make(gorgonia.Nodes, len(list))
		for k, marks := range list {
			at[k] = marks[i].nodes[0]
		}
		if v := t.value(at); t.e.err == nil {
			t.e.AsOutput(m.output, v)
		}
	}
}

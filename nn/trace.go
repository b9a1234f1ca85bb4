package nn

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sort"
	"strings"

	"github.com/graft-ml/graft/internal/exprgraph"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/std"
	"gorgonia.org/gorgonia"
)

// Expr is a function of Gorgonia nodes: a model, a layer or a loss. It may use Gorgonia's own operators and those of
// package op, and create parameters: nodes that have a value and are on the graph of its inputs.
type Expr func(x ...*gorgonia.Node) (gorgonia.Nodes, error)

// Tracer traces with additional rules or settings. Trace and TraceNodes use its zero value.
type Tracer struct {
	// Rules translate Ops, by their Go type as %T prints it ("*mynet.gateOp"). They take precedence over the built-in ones.
	Rules map[string]TraceRule
	// Names gives names to the values that nodes compute; inputs and parameters have their own.
	Names map[*gorgonia.Node]string
	// Inputs are the inputs for Tracer.Nodes, in order; nodes in it are inputs even if they have a value. Inputs that are
	// not listed follow.
	Inputs gorgonia.Nodes
	// Ops is the set of operators of the graph; zero: the standard operators.
	Ops op.Set
	// Roll replaces what a Go loop has unrolled by a Loop: three or more equal bodies, each of which reads what the one
	// before computed. They may read different rows of a tensor in each iteration (at constant positions), and the same
	// values otherwise. If only the rows differ, it is a Scan; so are bodies that carry no state and whose results are
	// concatenated. Bodies that are not equal, draw random numbers or have state stay unrolled.
	Roll bool
}

// TraceRule adds the ONNX form of an Op to a graph and returns its result. It reports errors with s.Failf.
type TraceRule func(s *Site) *Value

// Trace returns the inverse of Graph.Lower: it returns a graph of what f computes from inputs of the given types, such as "x
// float32[N,784]". Go's own loops and branches are unrolled. f is called with several sizes for each symbol, so that what
// depends on symbols stays symbolic: the target of a Reshape becomes −1, 0 or is computed from a Shape. Nodes to which f
// gives a value become parameters that share the value's memory; those of rank one or more that Gorgonia's operators read
// are trained unless they are frozen or made by NewConstant. Operators without an ONNX form are an error, which lists
// them.
func Trace(f Expr, inputs ...string) (*Graph, error) { return Tracer{}.Trace(f, inputs...) }

// TraceNodes returns a graph of existing nodes: nodes without children become inputs if they have no value, and
// parameters if they have one. The outputs of a lowering keep its symbols. It is an error if the lowering computed values
// from symbolic shapes in advance: use LowerOptions.Keep. Lowered.Trace also keeps names and the order of the inputs.
func TraceNodes(out ...*gorgonia.Node) (*Graph, error) { return Tracer{}.Nodes(out...) }

// Trace returns the function Trace with the tracer's rules and operators.
func (tr Tracer) Trace(f Expr, inputs ...string) (*Graph, error) {
	if f == nil {
		return nil, &Error{Stage: "trace", Err: errNoFunction}
	}
	ports := make([]port, len(inputs))
	for i, s := range inputs {
		name, t, err := op.ParseInput(s)
		if err != nil {
			return nil, &Error{Stage: "trace", Err: err}
		}
		ports[i] = port{name, t}
	}
	runs, points, err := runExpr(f, ports)
	if err != nil {
		return nil, err
	}
	g := NewGraph("graph", tr.ops(), map[string]int{"": LatestOpset})
	return g, tr.fill(context.Background(), g, func(t *tracer) {
		t.points, t.samples = points, len(runs)
		for i, p := range ports {
			t.input(columns(runs, func(r run) *gorgonia.Node { return r.in[i] }), p.name, p.typ)
		}
		t.reading(runs[0].out[0].Graph())
		t.outputs(len(runs[0].out), func(i int) (gorgonia.Nodes, string) {
			return columns(runs, func(r run) *gorgonia.Node { return r.out[i] }), ""
		})
		t.asked(graphsOf(runs))
	})
}

// Nodes is TraceNodes with the tracer's rules.
func (tr Tracer) Nodes(out ...*gorgonia.Node) (*Graph, error) {
	if len(out) == 0 {
		return nil, &Error{Stage: "trace", Err: errors.New("no node to trace")}
	}
	leaves, opsets, err := survey(out, tr.Inputs)
	if err != nil {
		return nil, err
	}
	g := NewGraph("graph", tr.ops(), opsets)
	return g, tr.fill(context.Background(), g, func(t *tracer) {
		t.points, t.samples = samplePoints(leaves.symbols(), 1), 1
		for _, l := range leaves {
			t.input(gorgonia.Nodes{l.node}, t.nameOf(l.node), l.typ)
		}
		t.reading(out[0].Graph())
		t.outputs(len(out), func(i int) (gorgonia.Nodes, string) { return gorgonia.Nodes{out[i]}, "" })
		t.asked([]*gorgonia.ExprGraph{out[0].Graph()})
	})
}

// Trace returns a graph of the lowering: its inputs, outputs and parameters under their names, and the nodes in between.
// If the lowering computed shapes in advance (without Keep), it is made again with Keep, so that symbols stay symbolic;
// the graph it was made from must not have changed.
func (l *Lowered) Trace() (*Graph, error) {
	from := l.graph
	if from == nil {
		return nil, &Error{Stage: "trace", Err: errors.New("the Lowered is zero: Graph.Lower makes one")}
	}
	if !l.made.Keep && from.Version() == l.at {
		o := l.made
		o.Keep = true
		again, err := from.Lower(o)
		if err != nil {
			return nil, err
		}
		l = again
	}
	defer from.locked().unlock()
	_, opsets, err := survey(l.Outputs, nil)
	if err != nil {
		return nil, err
	}
	for d, v := range from.opsets {
		if _, ok := opsets[d]; ok {
			opsets[d] = v
		}
	}
	tr := Tracer{Ops: from.ops, Names: l.names()}
	g := NewGraph(from.name, tr.ops(), opsets)
	g.doc, g.meta = from.doc, maps.Clone(from.meta)
	return g, tr.fill(context.Background(), g, func(t *tracer) {
		t.points, t.samples, t.modeled = samplePoints(slices.Sorted(maps.Keys(from.symbols())), 1), 1, true
		t.e.bodies = from.scopedBodies() // they stay as they are
		for i, v := range from.inputs {
			if n := l.Inputs[i]; n != nil {
				t.input(gorgonia.Nodes{n}, v.name, v.typ)
			} else {
				t.addInput(v.name, v.typ)
			}
		}
		t.outputs(len(l.Outputs), func(i int) (gorgonia.Nodes, string) {
			return gorgonia.Nodes{l.Outputs[i]}, l.want[i].name
		})
		for p, n := range l.Params {
			if v := t.find(gorgonia.Nodes{n}); v != nil && v.param != nil {
				t.e.setRole(v.param, p.role)
				t.e.SetFrozen(v.param, p.frozen)
			}
		}
	})
}

// names returns the names of the values of a lowering, by node.
func (l *Lowered) names() map[*gorgonia.Node]string {
	m := map[*gorgonia.Node]string{}
	for v, b := range l.env {
		if old := m[b.node]; old == "" || v.name < old {
			m[b.node] = v.name
		}
	}
	return m
}

func (tr Tracer) ops() op.Set {
	if tr.Ops.IsZero() {
		return std.Operators()
	}
	return tr.Ops
}

// fill calls f on a tracer for an empty graph.
func (tr Tracer) fill(ctx context.Context, g *Graph, f func(*tracer)) error {
	err := g.EditUntil(ctx, func(e *Edit) {
		t := newTracer(e, tr)
		f(t)
		if t.finish(); tr.Roll {
			e.roll()
		}
	})
	var x *Error
	if errors.As(err, &x) && x.Stage == "edit" {
		c := *x
		c.Stage = "trace"
		return &c
	}
	return err
}

// outputs traces the outputs one after the other and declares them.
func (t *tracer) outputs(n int, at func(i int) (gorgonia.Nodes, string)) {
	list := make([]*Value, n)
	for i := range list {
		nodes, _ := at(i)
		t.results[nodes[0]]++
	}
	for i := range list {
		nodes, _ := at(i)
		list[i] = t.value(nodes)
	}
	t.report()
	for i, v := range list {
		if t.e.err != nil {
			return
		}
		nodes, name := at(i)
		if name == "" {
			name = t.behindAnchors(v)
		}
		if name == "" {
			name = t.nameOf(nodes[0])
		}
		if v.name == name || name == "" {
			name = v.name
		}
		if other := t.e.g.values[name]; other != nil && (other != v || v.input || v.param != nil || slices.Contains(t.e.g.outputs, v)) {
			name = t.e.unique("output")
		}
		t.e.Output(name, v)
	}
}

// finish handles what is only known at the end: operators without an ONNX form, annotations, roles of parameters.
func (t *tracer) finish() {
	t.report()
	t.annotate()
	t.roles()
}

// report fails if operators have no ONNX form, and lists them.
func (t *tracer) report() {
	if t.e.err != nil || len(t.missing) == 0 {
		return
	}
	names := slices.Sorted(maps.Keys(t.missing))
	sort.Strings(names)
	t.e.fail(&Error{Kind: ErrUnsupported, Err: fmt.Errorf("no ONNX form: %s", strings.Join(names, ", "))})
}

// leaf is a node without children and without a value: an input of the traced graph.
type leaf struct {
	node *gorgonia.Node
	typ  op.Type
}

type leafList []leaf

func (l leafList) symbols() []string {
	set := map[string]bool{}
	for _, x := range l {
		for _, d := range x.typ.Shape {
			for _, s := range d.Symbols() {
				set[s] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(set))
}

// survey finds the inputs that out depends on, the given ones first and then others in the order of their first use, and
// the operator-set versions of the calls in between. Inputs have the symbols with which our operators were called.
func survey(out, given gorgonia.Nodes) (leafList, map[string]int, error) {
	var leaves leafList
	at := map[*gorgonia.Node]int{}
	opsets := map[string]int{}
	known := map[*gorgonia.Node]op.Type{}
	seen := map[*gorgonia.Node]bool{}
	var graph *gorgonia.ExprGraph
	for _, n := range given {
		if n == nil || len(exprgraph.Children(n)) > 0 {
			return nil, nil, &Error{Stage: "trace", Err: errors.New("an input is computed from other nodes")}
		}
		at[n] = len(leaves)
		leaves = append(leaves, leaf{n, op.NodeType(n)})
	}
	var stack gorgonia.Nodes
	for _, n := range slices.Backward(out) {
		stack = append(stack, n)
	}
	for len(stack) > 0 {
		n := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if n == nil {
			return nil, nil, &Error{Stage: "trace", Err: errors.New("a node is nil")}
		}
		if n.Type() == nil {
			return nil, nil, &Error{Stage: "trace", Err: errors.New("a node has no type: Gorgonia's functions make nodes")}
		}
		switch at := n.Graph(); {
		case graph == nil:
			graph = at
		case at != nil && at != graph:
			return nil, nil, &Error{Stage: "trace", Err: errors.New("nodes of two expression graphs")}
		}
		if seen[n] {
			continue
		}
		seen[n] = true
		kids := exprgraph.Children(n)
		if c, in, _, ok := op.CallOf(n); ok {
			kids = in
			if c.Opset > 0 {
				opsets[c.Op.Domain] = max(opsets[c.Op.Domain], c.Opset)
			}
			for i, k := range in {
				if k != nil {
					known[k] = moreSymbols(known[k], c.In[i])
				}
			}
		}
		for _, k := range slices.Backward(kids) {
			if k != nil {
				stack = append(stack, k)
			}
		}
		if _, ok := at[n]; !ok && n.IsVar() && n.Value() == nil {
			at[n] = len(leaves)
			leaves = append(leaves, leaf{n, op.NodeType(n)})
		}
	}
	for n, i := range at {
		leaves[i].typ = moreSymbols(leaves[i].typ, known[n])
	}
	delete(opsets, op.Internal)
	if opsets[""] == 0 {
		opsets[""] = LatestOpset
	}
	return leaves, opsets, nil
}

// moreSymbols adds the symbols of t to those of a type of the same value. The number that a symbol had in the lowering
// is dropped.
func moreSymbols(have, t op.Type) op.Type {
	if !have.Present() {
		have = t
	}
	have.Shape = slices.Clone(have.Shape)
	for i, d := range t.Shape {
		if i < len(have.Shape) && d.Sym != "" {
			have.Shape[i] = op.Sym(d.Sym)
		}
	}
	return have
}

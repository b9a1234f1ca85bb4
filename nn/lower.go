package nn

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/graft-ml/graft/internal/engine"
	"github.com/graft-ml/graft/internal/exprgraph"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"gorgonia.org/gorgonia"
)

// Feed holds values by name.
type Feed map[string]gorgonia.Value

// LowerOptions are the settings of Graph.Lower. The zero value lowers all outputs for evaluation, with symbolic
// dimensions of size 1.
type LowerOptions struct {
	Sizes   map[string]int // of the symbols in input shapes; 1 for those missing
	Inputs  []string       // types for inputs that a file leaves unknown, such as "x float32[8,784]"
	Feed    Feed           // values of inputs; required for those that shapes depend on
	Outputs []string       // values to compute; nil: the graph's outputs
	Train   bool           // batch statistics and dropout are on
	Keep    bool           // also emit constants and computations on shapes as nodes, which Trace needs
}

// Lowered is a graph as a Gorgonia expression graph. It can be run on Gorgonia's machines, extended with other Gorgonia
// nodes, and differentiated. Its parameters share memory with the Graph; its inputs have no values unless
// LowerOptions.Feed has them.
type Lowered struct {
	ExprGraph *gorgonia.ExprGraph       // the graph that the nodes belong to
	Inputs    gorgonia.Nodes            // in the order of Graph.Inputs; nil where nothing reads the input
	Outputs   gorgonia.Nodes            // in the order of LowerOptions.Outputs
	Params    map[*Param]*gorgonia.Node // the nodes of the parameters
	Updates   map[*Param]*gorgonia.Node // the values that running statistics have after a training step
	Key       *gorgonia.Node            // input uint64[2]: seed and step of random operators; nil if there are none

	graph *Graph
	want  []*Value // after Outputs
	made  LowerOptions
	at    int // version of the graph
	env   map[*Value]*binding
}

// Node returns the expression node of a value, nil if the lowering did not need one.
func (l *Lowered) Node(v *Value) *gorgonia.Node {
	if b := l.env[v]; b != nil {
		return b.node
	}
	return nil
}

// Trainable returns the parameters that training changes, in the order of Graph.Params, and their nodes.
func (l *Lowered) Trainable() (params []*Param, nodes gorgonia.Nodes) {
	if l.graph == nil {
		return nil, nil
	}
	for p := range l.graph.Params() {
		if n := l.Params[p]; n != nil && p.Trainable() {
			params, nodes = append(params, p), append(nodes, n)
		}
	}
	return params, nodes
}

// Lower returns a new expression graph that computes the graph. Shapes that depend on values that are only known in a run
// (the length of NonZero, for example) are an error; Run handles these in stages.
func (g *Graph) Lower(o LowerOptions) (*Lowered, error) {
	if err := g.edited("lower"); err != nil {
		return nil, err
	}
	defer g.locked().unlock()
	ctx, stop := folding(context.Background())
	defer stop()
	ask := lowering{g: g, mode: walkLower, train: o.Train, ctx: ctx, shown: true, bound: map[*Value]*binding{}, have: map[*Value]dtype.Value{}}
	if o.Keep {
		ask.mode = walkTrace
	}
	types, err := g.inputTypes(o)
	if err != nil {
		return nil, err
	}
	if o.Feed, err = o.Feed.rowMajor("lower"); err != nil {
		return nil, err
	}
	for i, v := range g.inputs {
		ask.bound[v] = &binding{typ: types[i]}
		if x := o.Feed[v.name]; x != nil {
			ask.have[v] = x
		}
	}
	if ask.want, err = g.named("lower", o.Outputs, g.outputs); err != nil {
		return nil, err
	}
	w, err := ask.lower()
	if err != nil {
		return nil, err
	}
	for p := range w.params { // the caller has its nodes and may train them, for example with a solver of Gorgonia
		p.kept.Lend()
	}
	l := &Lowered{ExprGraph: w.expr, Params: w.params, Updates: map[*Param]*gorgonia.Node{}, graph: g, want: ask.want, made: o, at: g.version, env: w.env}
	for _, v := range ask.want {
		n, err := w.nodeOf(v)
		if err != nil {
			return nil, err
		}
		l.Outputs = append(l.Outputs, n)
	}
	for _, v := range g.inputs {
		n := w.env[v].node
		if x := o.Feed[v.name]; n != nil && x != nil {
			op.Bind(n, x)
		}
		l.Inputs = append(l.Inputs, n)
	}
	for _, u := range w.updates {
		l.Updates[u.param] = u.node
	}
	l.Key = w.key
	return l, nil
}

// inputTypes returns a static type for every input: that of the fed value, or the declared one with its
// symbols replaced.
func (g *Graph) inputTypes(o LowerOptions) ([]op.Type, error) {
	given := map[string]op.Type{}
	for _, s := range o.Inputs {
		name, t, err := op.ParseInput(s)
		if err != nil {
			return nil, &Error{Stage: "lower", Err: err}
		}
		given[name] = t
	}
	types := make([]op.Type, len(g.inputs))
	for i, v := range g.inputs {
		t := v.typ
		if x := o.Feed[v.name]; x != nil {
			var err error
			if t, err = matchType(v, op.TypeOf(x), map[string]sized{}); err != nil {
				return nil, err
			}
			types[i] = t
			continue
		}
		if x, ok := given[v.name]; ok {
			var err error
			if t, err = matchType(v, x, map[string]sized{}); err != nil {
				return nil, err
			}
		}
		t.Shape = slices.Clone(t.Shape)
		for k, d := range t.Shape {
			if d.Known() {
				continue
			}
			sizes := map[string]int{}
			for _, s := range d.Symbols() {
				sizes[s] = 1
				if n, ok := o.Sizes[s]; ok {
					sizes[s] = n
				}
			}
			if d.Sym == "" {
				t.Shape[k] = op.D(1)
				continue
			}
			n, err := d.Eval(sizes)
			if err != nil {
				return nil, &Error{Stage: "lower", Input: v.name, Err: err}
			}
			t.Shape[k].Size = n
		}
		types[i] = t
	}
	return types, nil
}

// named looks values up by name, at a stage; no names mean the default.
func (g *Graph) named(stage string, names []string, def []*Value) ([]*Value, error) {
	if names == nil {
		return def, nil
	}
	list := make([]*Value, len(names))
	for i, n := range names {
		v, err := g.value(n)
		if err != nil {
			return nil, &Error{Stage: stage, Err: err}
		}
		list[i] = v
	}
	return list, nil
}

// ancestors returns the nodes that the wanted values depend on, in topological order, up to the
// values for which stop is true.
func ancestors(want []*Value, stop func(*Value) bool) []*Node {
	need := map[*Node]bool{}
	var g *Graph
	var mark func(v *Value)
	mark = func(v *Value) {
		for v != nil && v.producer != nil && !need[v.producer] && (stop == nil || !stop(v)) {
			n := v.producer
			need[n], g = true, n.graph
			reads := n.reads()
			for _, x := range reads[:max(len(reads)-1, 0)] {
				mark(x)
			}
			if len(reads) == 0 {
				return
			}
			v = reads[len(reads)-1]
		}
	}
	for _, v := range want {
		mark(v)
	}
	if g == nil {
		return nil
	}
	list := make([]*Node, 0, len(need))
	for _, n := range g.nodes() {
		if need[n] {
			list = append(list, n)
		}
	}
	return list
}

// sized is the size of a symbol, and the input that determined it.
type sized struct {
	n    int
	from string
}

// matchType checks a value fed to an input against the declared type and returns the concrete
// type with the declared symbols attached. sizes collects the symbols of all inputs.
func matchType(v *Value, got op.Type, sizes map[string]sized) (op.Type, error) {
	want := v.typ
	wrong := func(format string, args ...any) error {
		e := &Error{Stage: "run", Input: v.name, Want: want, Got: got.Concrete()}
		if format != "" {
			e.Err = fmt.Errorf(format, args...)
		}
		return e
	}
	if want.Kind == op.Optional && got.Kind != op.Optional && want.Elem != nil { // compare with the element of the optional
		return matchType(&Value{name: v.name, typ: *want.Elem}, got, sizes)
	}
	if want.Kind != got.Kind && want.Present() {
		return got, wrong("")
	}
	if want.Kind != op.Tensor {
		return got, nil
	}
	if want.DType != dtype.Undefined && want.DType != got.DType {
		return got, wrong("")
	}
	if want.Unranked || !want.Present() {
		return got, nil
	}
	if len(want.Shape) == 0 && got.Elements() == 1 {
		return got, nil // exporters write rank 0 for "one element"; ONNX Runtime accepts it too
	}
	if len(want.Shape) != len(got.Shape) {
		return got, wrong("")
	}
	out := got
	out.Shape = slices.Clone(got.Shape)
	for i, d := range want.Shape {
		n := got.Shape[i].Size
		if d.Known() && d.Sym == "" && d.Size != n {
			return got, wrong("")
		}
		if d.Sym == "" {
			continue
		}
		out.Shape[i].Sym = d.Sym
		if s, ok := sizes[d.Sym]; ok && s.n != n {
			return got, wrong("%s is %d in input %s", d.Sym, s.n, s.from)
		}
		sizes[d.Sym] = sized{n, v.name}
	}
	return out, nil
}

// gradients differentiates: it returns the gradients of Σ of·seed with respect to wrt, nil for those that do not
// depend on it. All output gradients of an operator are processed by one call.
func gradients(ctx context.Context, of, seed, wrt gorgonia.Nodes) (gorgonia.Nodes, error) {
	var outs, seeds, from gorgonia.Nodes
	place := map[*gorgonia.Node]int{} // in from
	if err := engine.Await(ctx, func() {
		reached := reach(of)
		for _, n := range wrt {
			if _, ok := place[n]; n != nil && reached[n] && !ok {
				place[n] = len(from)
				from = append(from, n)
			}
		}
		if len(from) == 0 {
			return
		}
		depends := dependents(of, from)
		for i, n := range of {
			if depends[n] {
				outs, seeds = append(outs, n), append(seeds, seed[i])
			}
		}
		reads := 0
		for n := range depends {
			reads += len(exprgraph.Children(n))
		}
		exprgraph.IndexAhead(outs[0].Graph(), 8*reads) // a gradient and its summation take a few nodes
	}); err != nil {
		return nil, err
	}
	result := make(gorgonia.Nodes, len(wrt))
	if len(from) == 0 {
		return result, nil
	}
	merged, err := op.Backpropagate(ctx, outs, seeds, from)
	if err != nil {
		var e *op.Error
		if errors.As(err, &e) {
			return nil, e
		}
		return nil, &Error{Stage: "gradient", Err: err}
	}
	for i, n := range wrt {
		if k, ok := place[n]; ok {
			result[i] = merged[k]
		}
	}
	return result, nil
}

// reach returns the nodes that roots depend on differentiably.
func reach(roots gorgonia.Nodes) map[*gorgonia.Node]bool {
	seen := map[*gorgonia.Node]bool{}
	stack := slices.Clone(roots)
	for len(stack) > 0 {
		n := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if n == nil || seen[n] {
			continue
		}
		seen[n] = true
		kids := op.Children(n)
		sd, ok := n.Op().(gorgonia.SDOp)
		if !ok || len(kids) == 0 {
			continue
		}
		for i, d := range sd.DiffWRT(len(kids)) {
			if d {
				stack = append(stack, kids[i])
			}
		}
	}
	return seen
}

// dependents returns the nodes that depend differentiably on one of the given leaves.
func dependents(roots, leaves gorgonia.Nodes) map[*gorgonia.Node]bool {
	depends := map[*gorgonia.Node]bool{}
	for _, l := range leaves {
		depends[l] = true
	}
	var visit func(n *gorgonia.Node) bool
	visit = func(n *gorgonia.Node) bool {
		if d, ok := depends[n]; ok {
			return d
		}
		depends[n] = false
		kids := op.Children(n)
		found := false
		if sd, ok := n.Op().(gorgonia.SDOp); ok && len(kids) > 0 {
			for i, d := range sd.DiffWRT(len(kids)) {
				if d && visit(kids[i]) {
					found = true
				}
			}
		}
		depends[n] = found
		return found
	}
	for _, r := range roots {
		visit(r)
	}
	return depends
}

package nn

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"gorgonia.org/gorgonia"
)

// Body is a subgraph attribute: a branch of an If, or the body of a Loop or a Scan. Its graph contains a placeholder for
// each outer value that it reads. The node that has the attribute lists the outer values themselves (Node.Captured),
// those of its first body first.
type Body struct {
	Graph *Graph   // the subgraph
	outer []*Value // placeholders inside Graph for outer values, in order of first use

	captured []*Value // the outer values, until a node has the body; see Edit.Body
	made     *closure // set by While and the like; nil in a graph
}

var _ op.Subgraph = (*Body)(nil)

// NewBody returns a Body with the graph g, in which outer are the placeholders for outer values. Package onnxio uses it.
func NewBody(g *Graph, outer []*Value) *Body {
	g.there()
	b := &Body{Graph: g, outer: outer}
	g.body = b
	return b
}

// Inputs returns the number of formal inputs of the subgraph.
func (b *Body) Inputs() int {
	b.there()
	defer b.Graph.entered().unlock()
	return len(b.Graph.inputs)
}

// Captured returns the names of the outer values that the subgraph reads.
func (b *Body) Captured() []string {
	names := make([]string, len(b.outer))
	for i, v := range b.outer {
		names[i] = v.name
	}
	return names
}

// Outer returns the placeholders for outer values, in the order of Captured.
func (b *Body) Outer() []*Value { return b.outer }

// bind returns the bindings with which a walk through the subgraph starts.
func (b *Body) bind(in []op.Type, known []op.Known) (map[*Value]*binding, error) {
	formal := b.formal()
	if len(in) > len(formal) {
		return nil, fmt.Errorf("subgraph %s takes %d inputs, got %d", b.Graph.name, len(formal), len(in))
	}
	bound := make(map[*Value]*binding, len(in))
	for i, t := range in {
		x := &binding{typ: t}
		if i < len(known) {
			x.known = known[i]
		}
		bound[formal[i]] = x
	}
	return bound, nil
}

// Infer returns the types of the outputs. ctx is that of the enclosing call; it limits how many nodes
// of subgraphs are visited.
func (b *Body) Infer(ctx context.Context, in []op.Type, known []op.Known, train bool) ([]op.Type, error) {
	ctx, shared := b.Graph.shareNested(ctx)
	return shared.types(b, foundTypes{in: in, known: known, train: train}, func() ([]op.Type, error) {
		bound, err := b.bind(in, known)
		if err != nil {
			return nil, err
		}
		w, err := lowering{g: b.Graph, mode: walkInfer, train: train, ctx: ctx, bound: bound}.lower()
		if err != nil {
			return nil, err
		}
		return w.types(b.Graph.outputs)
	})
}

// Random reports whether a node of the subgraph, or of one nested in it, draws random numbers.
func (b *Body) Random() bool {
	b.there()
	defer b.Graph.entered().unlock()
	return b.random()
}

func (b *Body) random() bool { return slices.ContainsFunc(b.Graph.nodes(), (*Node).random) }

// random reports whether the node draws random numbers.
func (n *Node) random() bool {
	return n.op != nil && n.op.Random || slices.ContainsFunc(n.bodies(), (*Body).random)
}

// States returns the inputs whose values a training step replaces: running statistics.
func (b *Body) States() []int {
	b.there()
	defer b.Graph.entered().unlock()
	return b.states()
}

func (b *Body) states() (list []int) {
	formal := b.formal()
	for _, n := range b.Graph.nodes() {
		for _, v := range n.moves() {
			if i := slices.Index(formal, v); i >= 0 && !slices.Contains(list, i) {
				list = append(list, i)
			}
		}
	}
	slices.Sort(list)
	return list
}

// moves returns the values that the node reads and that a training step replaces.
func (n *Node) moves() (list []*Value) {
	if n.op == nil || n.op.State == nil {
		return nil
	}
	in := n.reads()
	c := n.graph.bareCall(n, in)
	c.Train = true
	for i := range c.In {
		if c.In[i] = in[i].typed(); in[i] != nil && !c.In[i].Static() {
			c.In[i] = op.Shaped(dtype.Float32) // the type of a captured value is only known in the subgraph's node: within a nested subgraph it may be unknown
		}
	}
	for _, u := range n.op.State(c) {
		if u.In < len(in) && in[u.In] != nil {
			list = append(list, in[u.In])
		}
	}
	return list
}

// formal returns the values that stand for the inputs, those for captured values last.
func (b *Body) formal() []*Value {
	b.there()
	return slices.Concat(b.Graph.inputs, b.outer)
}

// Lower adds the nodes of the subgraph to an expression graph, with in as its inputs and captured values.
func (b *Body) Lower(s op.Scope, in gorgonia.Nodes, types []op.Type, known []op.Known) (gorgonia.Nodes, error) {
	bound, err := b.bind(types, known)
	if err != nil {
		return nil, err
	}
	formal := b.formal()
	for i, n := range in {
		bound[formal[i]].node = n
	}
	ask := lowering{g: b.Graph, mode: walkLower, train: s.Train, ctx: s.Ctx, bound: bound, still: s.Types, expr: s.Graph, outerKey: s.Key}
	w, err := ask.lower()
	if err != nil {
		return nil, err
	}
	out := make(gorgonia.Nodes, len(b.Graph.outputs))
	for i, v := range b.Graph.outputs {
		n, err := w.nodeOf(v)
		if err != nil {
			return nil, err
		}
		out[i] = n
	}
	for _, u := range w.updates {
		if i := slices.Index(formal, u.value); i >= 0 && s.Update != nil {
			s.Update(i, u.node)
		}
	}
	return out, nil
}

// Run computes the outputs from the inputs, which are followed by the captured values. next holds the new values of
// States, nil for those that do not change.
func (b *Body) Run(r op.SubgraphRun, in []dtype.Value) (out, next []dtype.Value, err error) {
	q := b.request(r)
	q.want = b.Graph.outputs
	res, err := b.Graph.exec(r.Ctx, b.fed(in), q)
	if err != nil {
		return nil, nil, err
	}
	formal := b.formal()
	next = make([]dtype.Value, len(formal))
	for i, v := range formal {
		if d := res.next[v]; d != nil { // a nil *tensor.Dense would not be a nil Value
			next[i] = d
		}
	}
	return res.values, next, nil
}

// Gradient computes the gradients with respect to the inputs for which asked is true, given the inputs, captured values included, and
// the gradients of the outputs; nil where there is none.
func (b *Body) Gradient(r op.SubgraphRun, in, dout []dtype.Value, asked []bool) ([]dtype.Value, error) {
	formal := b.formal()
	q := b.request(r)
	q.want, q.seeds, q.asked = []*Value{}, map[*Value]dtype.Value{}, []*Value{}
	place := map[*Value]int{}
	for i, x := range in[:min(len(in), len(formal), len(asked))] {
		if t := op.TypeOf(x); asked[i] && (op.Differentiable(t) || t.Kind != op.Tensor) {
			if q.asked = append(q.asked, formal[i]); op.Differentiable(t) {
				q.wrt = append(q.wrt, formal[i])
				place[formal[i]] = i
			}
		}
	}
	for i, d := range dout[:min(len(dout), len(b.Graph.outputs))] {
		v := b.Graph.outputs[i]
		if d == nil || !op.Differentiable(op.TypeOf(d)) {
			continue
		}
		if before := q.seeds[v]; before != nil { // two outputs may be one value
			sum, err := (&op.Call{Set: b.Graph.ops, Ctx: r.Ctx}).Compute(1, op.Plain("Add"), 0, before, d)
			if err != nil {
				return nil, err
			}
			q.seeds[v] = sum[0]
			continue
		}
		q.of, q.seeds[v] = append(q.of, v), d
	}
	grads := make([]dtype.Value, len(in))
	if len(q.of) == 0 || len(q.asked) == 0 {
		return grads, nil
	}
	res, err := b.Graph.exec(r.Ctx, b.fed(in), q)
	if err != nil {
		return nil, err
	}
	for i, v := range q.wrt {
		if d := res.grads[i]; d != nil {
			grads[place[v]] = d
		}
	}
	return grads, nil
}

// Depends reports which outputs depend on the inputs, captured values included, for which on is true, with a derivative that may not be zero.
func (b *Body) Depends(on []bool) []bool {
	b.there()
	defer b.Graph.entered().unlock()
	set := map[*Value]bool{}
	for i, v := range b.formal() {
		if i < len(on) && on[i] {
			set[v] = true
		}
	}
	influence(b.Graph.nodes(), set)
	out := make([]bool, len(b.Graph.outputs))
	for i, v := range b.Graph.outputs {
		out[i] = set[v]
	}
	return out
}

// fed returns the values of the inputs, captured values included.
func (b *Body) fed(in []dtype.Value) map[*Value]dtype.Value {
	formal := b.formal()
	feed := map[*Value]dtype.Value{}
	for i, v := range in[:min(len(in), len(formal))] {
		if v != nil {
			feed[formal[i]] = v
		}
	}
	return feed
}

// request returns a request for what r says.
func (b *Body) request(r op.SubgraphRun) request {
	q := request{unchecked: true, train: r.Train, seed: r.Key, frozen: map[*Value]bool{}}
	formal := b.formal()
	for i, f := range r.Frozen[:min(len(r.Frozen), len(formal))] {
		q.frozen[formal[i]] = f
	}
	return q
}

var errNoCall = errors.New("the call is nil")

// LowerCall returns the Lower function of an operator that is defined by its only subgraph attribute, such as a call of a
// function that is part of the model.
func LowerCall(c *op.Call, in gorgonia.Nodes) (gorgonia.Nodes, error) {
	if c == nil {
		return nil, &Error{Stage: "lower", Err: errNoCall}
	}
	list := configBodies(c.Config)
	if len(list) != 1 {
		return nil, c.Errorf("has %d subgraphs, want one", len(list))
	}
	for _, n := range in {
		if n != nil {
			return list[0].Lower(c.Scope(n.Graph()), in, c.In, c.Known)
		}
	}
	return nil, c.Errorf("a function without inputs cannot be run")
}

// bodies returns the subgraphs among the node's attributes, in the order of the configuration.
func (n *Node) bodies() []*Body {
	if n == nil || n.config == nil || n.op.Attrs == nil { // without an operator there is no configuration
		return nil
	}
	return configBodies(n.config)
}

// allBodies returns the subgraphs of the graph's nodes and those inside them.
func (g *Graph) allBodies() []*Body {
	list := []*Body{}
	for _, n := range g.nodes() {
		for _, b := range n.bodies() {
			list = append(append(list, b), b.Graph.allBodies()...)
		}
	}
	return list
}

// scopedBodies returns those of allBodies that share the names of the graph: functions of the model have their own.
func (g *Graph) scopedBodies() []*Body {
	list := []*Body{}
	for _, n := range g.nodes() {
		if n.traits().Call {
			continue
		}
		for _, b := range n.bodies() {
			list = append(append(list, b), b.Graph.scopedBodies()...)
		}
	}
	return list
}

func configBodies(c op.Config) []*Body {
	v := reflect.ValueOf(c)
	if v.Kind() != reflect.Struct {
		return nil
	}
	var list []*Body
	for i := range v.NumField() {
		if !v.Field(i).CanInterface() {
			continue
		}
		if b, ok := v.Field(i).Interface().(*Body); ok && b != nil {
			list = append(list, b)
		}
	}
	return list
}

// Bodies returns the subgraphs among the node's attributes.
func (n *Node) Bodies() []*Body {
	defer n.locked().unlock()
	return n.bodies()
}

// capturedBy returns the outer value that placeholder k of body b stands for.
func (n *Node) capturedBy(b *Body, k int) *Value {
	at := 0
	for _, x := range n.bodies() {
		if x == b {
			return n.captured[at+k]
		}
		at += len(x.outer)
	}
	return nil
}

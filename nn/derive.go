package nn

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"gorgonia.org/gorgonia"
)

// Derivation holds the values that Graph.Derive adds to the graph: those of one training step up to the gradients.
type Derivation struct {
	Loss  *Value            // the loss, of rank 0
	In    map[*Param]*Value // inputs that take the place of the trained parameters and of the running statistics
	Grads map[*Param]*Value // gradients with respect to the parameters that the loss depends on
	Next  map[*Param]*Value // values of the running statistics after the step
	Key   *Value            // input uint64[2]: seed and step of random operators; nil if there are none
}

// DeriveOptions are the settings of Graph.Derive.
type DeriveOptions struct {
	Loss   *Value   // of one element
	Params []*Param // parameters to differentiate with respect to; they become inputs
	Opset  int      // version of the standard operator set of the result; 0: that of the graph
}

// Derive returns a graph, made of operators that files can hold, which computes a loss in training mode, its gradients
// with respect to parameters, and the next running statistics: what Step computes, written out. Inputs keep their names
// and symbols; the parameters to differentiate for and the statistics become inputs under their names; other parameters
// stay. finish adds the outputs, with the edit that makes the graph. Operators that cannot be expressed so are reported
// in one error.
func (g *Graph) Derive(o DeriveOptions, finish func(e *Edit, d *Derivation)) (*Graph, error) {
	return g.DeriveUntil(context.Background(), o, finish)
}

// DeriveUntil is Derive, ended by ctx, with its error.
func (g *Graph) DeriveUntil(ctx context.Context, o DeriveOptions, finish func(e *Edit, d *Derivation)) (*Graph, error) {
	if err := g.edited("derive"); err != nil {
		return nil, err
	}
	if finish == nil {
		return nil, &Error{Stage: "derive", Err: errNoFunction}
	}
	defer g.locked().unlock()
	runs, points, err := g.deriveRuns(ctx, o)
	if err != nil {
		return nil, err
	}
	opsets := maps.Clone(g.opsets)
	if o.Opset > 0 {
		if newest := g.ops.Newest(""); o.Opset > newest {
			return nil, fmt.Errorf("there is no operator set %d: want 1 to %d", o.Opset, newest)
		}
		opsets[""] = o.Opset
	}
	out := NewGraph(g.name, g.ops, opsets)
	tr := Tracer{Ops: g.ops, Names: runs[0].names}
	return out, tr.fill(ctx, out, func(t *tracer) {
		t.points, t.samples, t.step, t.modeled = points, len(runs), true, true
		t.e.bodies = g.scopedBodies() // they stay as they are
		t.wanted = wantedOutputs(runs[0].roots())
		d := t.derivation(g, o, runs)
		if t.e.err == nil && len(t.missing) == 0 {
			finish(t.e, d)
		}
		t.step = false
	})
}

// derived is a training step lowered at one choice of sizes.
type derived struct {
	in     gorgonia.Nodes // by graph input, nil if nothing reads it
	loss   *gorgonia.Node
	params map[*Param]*gorgonia.Node
	grads  gorgonia.Nodes // by DeriveOptions.Params
	next   map[*Param]*gorgonia.Node
	key    *gorgonia.Node
	names  map[*gorgonia.Node]string
}

func (d *derived) roots() gorgonia.Nodes {
	list := gorgonia.Nodes{d.loss}
	list = append(list, d.grads...)
	for _, n := range d.next {
		list = append(list, n)
	}
	return list
}

// openSizes returns the names of the sizes that the types leave open, sorted, those without a symbol included.
func openSizes(values []*Value) ([]string, *Error) {
	symbols := map[string]bool{}
	for i, v := range values {
		if v.typ.Kind != op.Tensor || v.typ.Unranked {
			return nil, &Error{Input: v.name, Want: "a tensor of known rank", Got: v.typ}
		}
		for k, d := range v.typ.Shape {
			for _, s := range d.Symbols() {
				symbols[s] = true
			}
			if !d.Known() && d.Sym == "" {
				symbols[unknownSym(i, k)] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(symbols)), nil
}

// deriveRuns lowers the step at several sizes of the symbols, so that what depends on them shows. A model may not work
// at every size, so several choices are tried.
func (g *Graph) deriveRuns(ctx context.Context, o DeriveOptions) ([]*derived, []map[string]int, error) {
	names, err := openSizes(g.inputs)
	if err != nil {
		err.Stage = "derive"
		return nil, nil, err
	}
	var last error
	for _, scale := range []int{1, 4, 32} {
		points := samplePoints(names, scale)
		var runs []*derived
		var err error
		for _, p := range points {
			var r *derived
			if r, err = g.deriveAt(ctx, o, p); err != nil {
				break
			}
			runs = append(runs, r)
		}
		if err == nil {
			return runs, points, nil
		}
		if last = err; len(names) == 0 || ctx.Err() != nil {
			break
		}
	}
	return nil, nil, last
}

// deriveAt lowers and differentiates at one choice of sizes. Nothing is folded, as for Trace.
func (g *Graph) deriveAt(ctx context.Context, o DeriveOptions, sizes map[string]int) (*derived, error) {
	ctx, stop := folding(ctx)
	defer stop()
	ask := lowering{
		g: g, mode: walkTrace, train: true, ctx: ctx, of: []*Value{o.Loss}, loss: true, strict: true, bound: map[*Value]*binding{},
	}
	for i, v := range g.inputs {
		t, err := concrete(v.typ, i, sizes)
		if err != nil {
			return nil, &Error{Stage: "derive", Input: v.name, Err: err}
		}
		for k, d := range v.typ.Shape {
			t.Shape[k].Sym = d.Sym
		}
		ask.bound[v] = &binding{typ: t}
	}
	for _, p := range o.Params {
		ask.wrt = append(ask.wrt, p.value)
	}
	w, err := ask.lower()
	if err != nil {
		return nil, err
	}
	d := &derived{params: w.params, loss: w.wanted[o.Loss], grads: w.grads, next: map[*Param]*gorgonia.Node{}, names: map[*gorgonia.Node]string{}}
	for _, u := range w.updates {
		if u.param != nil {
			d.next[u.param] = u.node
		}
	}
	for _, v := range g.inputs {
		d.in = append(d.in, w.env[v].node)
	}
	for v, b := range w.env {
		if old := d.names[b.node]; old == "" || v.name < old {
			d.names[b.node] = v.name
		}
	}
	d.key = w.key
	return d, nil
}

// straightThrough is the reason why nodes that round cannot be exported if gradients pass through them.
const straightThrough = "passes gradients straight through, which no ONNX operator does: remove the quantization from the model, or freeze the parameters before it"

// straight refuses nodes that gradients pass straight through although their derivative is zero: this is a rule of runs,
// which no operator of a file expresses.
func (w *walker) straight(nodes []*Node) error {
	for _, n := range nodes {
		if n.traits().StraightThrough && slices.ContainsFunc(n.out, func(v *Value) bool { return w.influenced[v] }) {
			return located("derive", n, errors.New(straightThrough))
		}
	}
	return nil
}

// derivation declares the inputs and traces all results of a step.
func (t *tracer) derivation(g *Graph, o DeriveOptions, runs []*derived) *Derivation {
	column := func(pick func(r *derived) *gorgonia.Node) gorgonia.Nodes {
		list := make(gorgonia.Nodes, len(runs))
		for i, r := range runs {
			if list[i] = pick(r); list[i] == nil {
				return nil
			}
		}
		return list
	}
	for i, v := range g.inputs {
		if at := column(func(r *derived) *gorgonia.Node { return r.in[i] }); at != nil {
			t.input(at, v.name, v.typ)
		} else {
			t.addInput(v.name, v.typ)
		}
	}
	d := &Derivation{In: map[*Param]*Value{}, Grads: map[*Param]*Value{}, Next: map[*Param]*Value{}}
	stand := func(p *Param) {
		at := column(func(r *derived) *gorgonia.Node { return r.params[p] })
		if at == nil || t.e.err != nil || d.In[p] != nil {
			return
		}
		v := t.addInput(p.id(), op.TypeOf(p.data))
		t.bindInput(at, v)
		d.In[p] = v
	}
	for i, p := range o.Params {
		if runs[0].grads[i] != nil {
			stand(p)
		}
	}
	list := slices.DeleteFunc(slices.Clone(g.params()), func(p *Param) bool { return runs[0].next[p] == nil })
	for _, p := range list {
		stand(p)
	}
	if at := column(func(r *derived) *gorgonia.Node { return r.key }); at != nil {
		if d.Key = t.addInput("random_key", op.Shaped(dtype.Uint64, 2)); t.e.err == nil {
			t.bindInput(at, d.Key)
		}
	}
	d.Loss = t.value(column(func(r *derived) *gorgonia.Node { return r.loss }))
	for i, p := range o.Params {
		if at := column(func(r *derived) *gorgonia.Node { return r.grads[i] }); at != nil {
			d.Grads[p] = t.value(at)
		}
	}
	for _, p := range list {
		d.Next[p] = t.value(column(func(r *derived) *gorgonia.Node { return r.next[p] }))
	}
	t.finish()
	return d
}

// bindInput binds nodes to an input without taking sizes from it: it has none that depend on symbols.
func (t *tracer) bindInput(at gorgonia.Nodes, v *Value) {
	if t.e.err == nil {
		t.done[at[0]] = append(t.done[at[0]], traced{at, v})
	}
}

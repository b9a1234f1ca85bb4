package nn

import (
	"fmt"

	"github.com/graft-ml/graft/nn/op"
	"gorgonia.org/gorgonia"
)

// Expr calls f with nodes of the types of the given values and adds the operators of its results to the graph, as
// Trace does. Symbolic and unknown dimensions remain so, and parameters that f creates become parameters of the
// graph. Operators without an ONNX form fail the edit with an error that lists them.
func (e *Edit) Expr(f Expr, in ...*Value) []*Value { return e.trace(Tracer{}, f, in) }

// Build adds the function to the graph, so that any Gorgonia function is a layer: e.Insert(v, nn.Expr(f)).
func (f Expr) Build(e *Edit, in ...*Value) []*Value { return e.Expr(f, in...) }

// ExprBy is Expr with the rules of a Tracer.
func (e *Edit) ExprBy(tr Tracer, f Expr, in ...*Value) []*Value { return e.trace(tr, f, in) }

func (e *Edit) trace(tr Tracer, f Expr, in []*Value) []*Value {
	e.made()
	if e.err != nil {
		return nil
	}
	if f == nil || len(in) == 0 {
		e.Failf("an expression needs a function and an input")
		return nil
	}
	ports := make([]port, len(in))
	for i, v := range in {
		if !e.mine(v) {
			return nil
		}
		ports[i] = port{fmt.Sprintf("x%d %s", i, v.name), symbolic(v.typ)}
	}
	runs, points, err := runExpr(f, ports)
	if err != nil {
		e.fail(err)
		return nil
	}
	t := newTracer(e, tr)
	t.points, t.samples = points, len(runs)
	for i, v := range in {
		t.bind(columns(runs, func(r run) *gorgonia.Node { return r.in[i] }), v)
	}
	t.reading(runs[0].out[0].Graph())
	for _, n := range runs[0].out {
		t.results[n]++
	}
	out := make([]*Value, len(runs[0].out))
	for i := range out {
		out[i] = t.value(columns(runs, func(r run) *gorgonia.Node { return r.out[i] }))
	}
	t.asked(graphsOf(runs))
	t.finish()
	if e.err != nil {
		return nil
	}
	return out
}

// symbolic removes the numbers from dimensions that have a symbol.
func symbolic(t op.Type) op.Type {
	t.Shape = append([]op.Dim{}, t.Shape...)
	for i, d := range t.Shape {
		if d.Sym != "" {
			t.Shape[i] = op.Sym(d.Sym)
		}
	}
	return t
}

package nn

import (
	"context"
	"slices"

	"github.com/graft-ml/graft/nn/op"
)

// Infer infers the types of all values again. Package onnxio calls it when a graph is complete, Edit after each change.
// Errors name the node.
func (g *Graph) Infer() error {
	if err := g.begin("infer"); err != nil {
		return err
	}
	defer g.lock().Unlock()
	return g.infer()
}

func (g *Graph) infer() error { return g.inferUntil(g.until()) }

// inferUntil is infer, and ends with an error when the context does.
func (g *Graph) inferUntil(ctx context.Context) error {
	ctx = g.inferring(ctx)
	bound := map[*Value]*binding{}
	for _, v := range g.inputs {
		bound[v] = &binding{typ: v.typ}
	}
	if g.body != nil {
		for _, v := range g.body.outer {
			bound[v] = &binding{typ: v.typ, known: v.known}
		}
	}
	w, err := lowering{g: g, mode: walkInfer, ctx: ctx, bound: bound}.lower()
	var news []inferred
	looks := watch{ctx: ctx}
	for v, b := range w.env {
		if looks.ended() {
			return looks.err
		}
		if v.graph != g {
			continue
		}
		x := inferred{v, v.typ, b.known}
		if b.typ.Present() || v.producer != nil && v.producer.op != nil {
			x.typ = b.typ
		}
		if g.edit == nil {
			x.swap()
		} else if !x.same() {
			news = append(news, x)
		}
	}
	if g.edit != nil {
		g.edit.retell(news)
	}
	return err
}

// inferring returns the context of an inference of types that ctx ends.
func (g *Graph) inferring(ctx context.Context) context.Context {
	ctx, nested := g.shareNested(ctx)
	nested.whole = ctx.Done()
	return ctx
}

// inferred is the inferred type of a value, or what was known before.
type inferred struct {
	v     *Value
	typ   op.Type
	known op.Known
}

// swap exchanges it with the value's.
func (x *inferred) swap() {
	x.v.typ, x.typ = x.typ, x.v.typ
	x.v.known, x.known = x.known, x.v.known
}

// same reports whether the value has it already. Known values are compared by identity.
func (x *inferred) same() bool {
	was, now := x.v.known, x.known
	return equalTypes(x.v.typ, x.typ) && was.Value == now.Value && was.Exact == now.Exact && slices.Equal(was.Dims, now.Dims)
}

// retell records new types in the edit, so that undoing restores the old ones without
// another inference, and remembers that types are up to date.
func (e *Edit) retell(news []inferred) {
	swap := func() {
		for i := range news {
			news[i].swap()
		}
	}
	if len(news) > 0 {
		turned := slices.ContainsFunc(news, func(x inferred) bool {
			return x.v.typ.Present() && x.v.typ.DType.IsFloat() != x.typ.DType.IsFloat()
		})
		e.act(action{do: swap, undo: swap, grows: !turned})
	}
	e.settled = e.last()
}

// last returns the number of the latest change of the edit; no two states of an edit have the same.
func (e *Edit) last() int {
	if n := len(e.log); n > 0 {
		return e.log[n-1].number
	}
	return 0
}

// infer infers all types, unless nothing has changed since they were inferred.
func (e *Edit) infer() error {
	if e.settled == e.last() {
		return nil
	}
	return e.g.infer()
}

// inferNode infers the outputs of one node from what is known of its inputs; edits use it so
// that layers can query sizes immediately.
func (g *Graph) inferNode(n *Node) error {
	w := lowering{g: g, mode: walkInfer}.walker()
	for _, v := range n.reads() {
		if v != nil && v.param == nil {
			w.env[v] = &binding{typ: v.typ, known: v.known}
		}
	}
	if err := w.visit(n); err != nil {
		return err
	}
	for _, v := range n.out {
		if b := w.env[v]; v != nil && b != nil {
			v.typ, v.known = b.typ, b.known
		}
	}
	return nil
}

// symbols returns the names that dimensions of the graph's inputs depend on.
func (g *Graph) symbols() map[string]bool {
	set := map[string]bool{}
	for _, v := range g.inputs {
		for _, d := range v.typ.Shape {
			for _, s := range d.Symbols() {
				set[s] = true
			}
		}
	}
	return set
}

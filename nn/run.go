package nn

import (
	"context"
	"fmt"
	"strings"

	"github.com/graft-ml/graft/nn/dtype"
	"gorgonia.org/tensor"
)

// Run computes the graph's outputs from its inputs, both in the graph's order. It may be called from any number of
// goroutines. The caller owns the results. Gorgonia's Dense.Data panics for a tensor without elements, such as the boxes of
// an image without objects; [dtype.ToSlice] does not.
func (g *Graph) Run(ctx context.Context, in ...*tensor.Dense) ([]*tensor.Dense, error) {
	if err := g.edited("run"); err != nil {
		return nil, err
	}
	defer g.locked().unlock()
	if len(in) != len(g.inputs) {
		return nil, &Error{Stage: "run", Want: fmt.Sprintf("%d inputs %v", len(g.inputs), describe(g.inputs)), Got: len(in)}
	}
	feed := make(map[*Value]dtype.Value, len(in))
	for i, x := range in {
		if x == nil {
			return nil, &Error{Stage: "run", Input: g.inputs[i].name, Want: g.inputs[i].typ, Got: "nil"}
		}
		feed[g.inputs[i]] = x
	}
	res, err := g.exec(ctx, feed, request{want: g.outputs})
	if err != nil {
		return nil, err
	}
	out := make([]*tensor.Dense, len(res.values))
	for i, v := range res.values {
		d, ok := v.(*tensor.Dense)
		if !ok {
			return nil, &Error{Stage: "run", Input: g.outputs[i].name, Err: fmt.Errorf("is a %v, not a tensor of numbers: use Eval", g.outputs[i].typ)}
		}
		out[i] = d
	}
	return out, nil
}

func describe(vs []*Value) []string {
	s := make([]string, len(vs))
	for i, v := range vs {
		s[i] = v.name + " " + v.typ.String()
	}
	return s
}

// Eval computes values by name, inner ones too; without names, the graph's outputs. The feed may also contain inner
// values: what they are normally computed from is then not needed.
func (g *Graph) Eval(ctx context.Context, in Feed, want ...string) (Feed, error) {
	if err := g.edited("run"); err != nil {
		return nil, err
	}
	defer g.locked().unlock()
	if len(want) == 0 {
		want = names(g.outputs)
	}
	list, err := g.named("run", want, nil)
	if err != nil {
		return nil, err
	}
	feed, err := g.feed(in, list)
	if err != nil {
		return nil, err
	}
	res, err := g.exec(ctx, feed, request{want: list})
	if err != nil {
		return nil, err
	}
	out := make(Feed, len(want))
	for i, n := range want {
		out[n] = res.values[i]
	}
	return out, nil
}

func names(vs []*Value) []string {
	s := make([]string, len(vs))
	for i, v := range vs {
		s[i] = v.name
	}
	return s
}

// complete reports whether every input is fed.
func (g *Graph) complete(feed map[*Value]dtype.Value) bool {
	for _, v := range g.inputs {
		if _, ok := feed[v]; !ok {
			return false
		}
	}
	return true
}

// feed resolves names and checks that no needed input is missing.
func (g *Graph) feed(in Feed, want []*Value) (map[*Value]dtype.Value, error) {
	feed := make(map[*Value]dtype.Value, len(in))
	for name, x := range in {
		v, err := g.value(name)
		if err != nil {
			return nil, &Error{Stage: "run", Err: fmt.Errorf("%w; the inputs are %s", err, strings.Join(describe(g.inputs), ", "))}
		}
		if d, ok := x.(*tensor.Dense); x == nil || ok && d == nil {
			return nil, &Error{Stage: "run", Input: name, Want: v.typ, Got: "nil"}
		}
		if _, err := matchType(v, typeOf(x), map[string]sized{}); err != nil {
			return nil, err
		}
		feed[v] = x
	}
	for _, v := range g.inputs {
		if _, ok := feed[v]; !ok && v.typ.Kind == optionalKind {
			feed[v] = &dtype.Optional{} // optional inputs may be omitted
		}
	}
	if g.complete(feed) {
		return feed, nil
	}
	stop := func(v *Value) bool { _, ok := feed[v]; return ok }
	for _, n := range ancestors(want, stop) {
		for _, v := range n.reads() {
			if v != nil && v.input && !stop(v) {
				return nil, &Error{Stage: "run", Input: v.name, Want: v.typ, Got: "nothing"}
			}
		}
	}
	for _, v := range want {
		if v.input && !stop(v) {
			return nil, &Error{Stage: "run", Input: v.name, Want: v.typ, Got: "nothing"}
		}
	}
	return feed, nil
}

// Grad returns the gradients of the scalar value named loss with respect to inputs, parameters, or inner values that are
// fed; without names, all trainable parameters. The result also has the value of the loss, by its name. The gradient for a value that the loss does not depend
// on is zero.
// Normalization uses the running statistics, and dropout is off.
func (g *Graph) Grad(ctx context.Context, in Feed, loss string, wrt ...string) (Feed, error) {
	if err := g.edited("gradient"); err != nil {
		return nil, err
	}
	defer g.locked().unlock()
	l, err := g.value(loss)
	if err != nil {
		return nil, err
	}
	if len(wrt) == 0 {
		for _, p := range g.params() {
			if len(p.value.users) > 0 && p.trainable() {
				wrt = append(wrt, p.id())
			}
		}
	}
	list, err := g.named("run", wrt, nil)
	if err != nil {
		return nil, err
	}
	feed, err := g.feed(in, []*Value{l})
	if err != nil {
		return nil, err
	}
	res, err := g.exec(ctx, feed, request{want: []*Value{l}, of: []*Value{l}, wrt: list})
	if err != nil {
		return nil, err
	}
	out := make(Feed, len(wrt)+1)
	out[loss] = res.values[0]
	for i, v := range list {
		if d := res.grads[i]; d != nil {
			out[v.name] = d
			continue
		}
		t := v.typ
		if x, ok := feed[v]; ok {
			t = typeOf(x)
		}
		if !t.Static() {
			return nil, &Error{Stage: "gradient", Input: v.name, Err: fmt.Errorf("the loss does not depend on it, and its shape %v is open", t)}
		}
		out[v.name] = dtype.New(t.DType, t.Sizes()...)
	}
	return out, nil
}

package nn_test

import (
	"context"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/graft-ml/graft/internal/nntest"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/initial"
	"github.com/graft-ml/graft/nn/layers"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/std"
	"gorgonia.org/tensor"
)

// A body reads its inputs and what it captures, weights too, which are trained through it.
func TestBody(t *testing.T) {
	g := nn.New("m")
	err := g.Edit(func(e *nn.Edit) {
		x := e.Input("x", "float32[2]")
		w := e.Param("w", initial.Full{Value: 3}, 2)
		body := e.Body("body", []string{"int64[]", "bool[]", "float32[2]"}, []*nn.Value{w}, func(e *nn.Edit, in ...*nn.Value) []*nn.Value {
			return []*nn.Value{e.Node(op.Plain("Identity"), in[1]).Out(0), e.Node(op.Plain("Mul"), in[2], in[3]).Out(0)}
		})
		n, err := dtype.FromSlice([]int64{2}, 1)
		e.Fail(err)
		e.Output("y", e.Node(std.LoopConfig{Body: body}, e.Const("n", n), nil, x).Out(0))
	})
	if err != nil {
		t.Fatal(err)
	}
	x, err := dtype.FromSlice([]float32{1, 2}, 2)
	if err != nil {
		t.Fatal(err)
	}
	out, err := g.Run(context.Background(), x)
	if err != nil {
		t.Fatal(err)
	}
	if got := dtype.Slice[float32](out[0]); got[0] != 9 || got[1] != 18 {
		t.Errorf("got %v, want [9 18]", got)
	}
	v, err := g.Value("w")
	if err != nil || !v.Param().Trainable() {
		t.Errorf("w is a %s, %v", v.Param().Role(), err)
	}
}

func TestBodyRefuses(t *testing.T) {
	for _, c := range []struct {
		types []string
		f     func(e *nn.Edit, in ...*nn.Value) []*nn.Value
		want  string
	}{
		{[]string{"float31[N]"}, func(e *nn.Edit, in ...*nn.Value) []*nn.Value { return in }, "float31"},
		{nil, nil, "the function is nil"},
		{nil, func(e *nn.Edit, in ...*nn.Value) []*nn.Value { return []*nn.Value{nil} }, "a value is nil"},
		{nil, func(e *nn.Edit, in ...*nn.Value) []*nn.Value { e.Failf("no"); return nil }, "no"},
	} {
		err := nn.New("m").Edit(func(e *nn.Edit) {
			e.Body("body", c.types, []*nn.Value{e.Input("x", "float32[2]")}, c.f)
		})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %q", err, c.want)
		}
	}
}

// A new value takes no name that a value of a subgraph has, whichever came first: files want names that are unique there.
func TestNamesInBodies(t *testing.T) {
	g := nn.New("names")
	nntest.Edit(t, g, func(e *nn.Edit) {
		flag, x := e.Input("flag", "bool[]"), e.Input("x", "float32[N]")
		before := e.Node(op.Plain("Tanh"), x).Out(0)
		branch := func(name string) *nn.Body {
			return e.Body(name, nil, []*nn.Value{x}, func(sub *nn.Edit, in ...*nn.Value) []*nn.Value {
				return []*nn.Value{sub.Node(op.Plain("Neg"), sub.Node(op.Plain("Tanh"), in[0]).Out(0)).Out(0)}
			})
		}
		then, other := branch("then"), branch("other")
		after := e.Node(op.Plain("Neg"), before).Out(0)
		e.Output("y", e.Node(op.Plain("Add"), e.Node(std.IfConfig{Then: then, Else: other}, flag).Out(0), after).Out(0))
	})
	nntest.Edit(t, g, func(e *nn.Edit) { e.Output("z", e.Node(op.Plain("Neg"), e.Value("x")).Out(0)) })
	seen := map[string]bool{}
	for n := range g.Nodes() {
		for _, b := range n.Bodies() {
			for m := range b.Graph.Nodes() {
				seen[m.Out(0).Name()] = true
			}
		}
	}
	for n := range g.Nodes() {
		if name := n.Out(0).Name(); seen[name] || len(seen) != 2 {
			t.Errorf("%q is a name in a subgraph, too: %v", name, seen)
		}
	}
}

// A value that a subgraph captures is put in the place of another without the inputs in front of it, whichever it is.
func TestRewireCaptured(t *testing.T) {
	for _, name := range []string{"flag", "a", "b"} {
		g := nn.New("m")
		nntest.Edit(t, g, func(e *nn.Edit) {
			flag, a, b := e.Input("flag", "bool[]"), e.Input("a", "float32[2]"), e.Input("b", "float32[2]")
			e.Input("other", "float32[2]")
			e.Input("not", "bool[]")
			body := func(name, operator string) *nn.Body {
				return e.Body(name, nil, []*nn.Value{a, b}, func(e *nn.Edit, in ...*nn.Value) []*nn.Value {
					return []*nn.Value{e.Node(op.Plain(operator), in[0], in[1]).Out(0)}
				})
			}
			e.Output("y", e.Node(std.IfConfig{Then: body("then", "Add"), Else: body("else", "Sub")}, flag).Out(0))
		})
		to := map[bool]string{true: "not", false: "other"}[name == "flag"]
		var branch *nn.Node
		nntest.Edit(t, g, func(e *nn.Edit) {
			branch = e.Value("y").Producer()
			e.Rewire(e.Value(name), e.Value(to), branch)
		})
		var reads []string
		for _, v := range append(branch.Inputs(), branch.Captured()...) {
			reads = append(reads, v.Name())
		}
		want := []string{"flag", "a", "b", "a", "b"}
		for i, w := range want {
			if w == name {
				want[i] = to
			}
		}
		if !slices.Equal(reads, want) {
			t.Errorf("%s instead of %s: reads %v, want %v", to, name, reads, want)
		}
	}
}

// TestParametersInBodies: parameters that the body of a Loop in a branch of an If makes are those of the graph: they are trained, and a
// batch normalization's statistics move, as those of the same layers outside.
func TestParametersInBodies(t *testing.T) {
	net := nn.Sequential{layers.Linear{Out: 3, Name: "l"}, layers.BatchNorm{Name: "bn"}, layers.Dropout{P: 0.3}}
	build := func(apply func(e *nn.Edit, x *nn.Value) *nn.Value) *nn.StepResult {
		g := nn.New("m")
		nntest.Edit(t, g, func(e *nn.Edit) {
			y := apply(e, e.Input("x", "float32[4,3]"))
			e.Output("loss", e.Node(std.ReduceSumConfig{KeepDims: new(false)}, e.Node(op.Plain("Mul"), y, y).Out(0)).Out(0))
		})
		loss, err := g.Value("loss")
		if err != nil {
			t.Fatal(err)
		}
		r, err := g.Step(t.Context(), nn.Feed{"x": tensor.New(tensor.WithShape(4, 3), tensor.WithBacking([]float32{1, 2, 3, -1, 0, 1, 2, 2, 1, 0, 5, 4}))}, nn.StepOptions{Loss: loss, Train: true})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	scalar := func(e *nn.Edit, name string, v any) *nn.Value { return e.Const(name, tensor.New(tensor.FromScalar(v))) }
	want := build(func(e *nn.Edit, x *nn.Value) *nn.Value { return e.Apply(net, x) })
	got := build(func(e *nn.Edit, x *nn.Value) *nn.Value {
		then := e.Body("then", nil, []*nn.Value{x}, func(e *nn.Edit, in ...*nn.Value) []*nn.Value {
			body := e.Body("body", []string{"int64[]", "bool[]", "float32[4,3]"}, nil, func(e *nn.Edit, in ...*nn.Value) []*nn.Value {
				return []*nn.Value{in[1], e.Apply(net, in[2])}
			})
			return []*nn.Value{e.Node(std.LoopConfig{Body: body}, scalar(e, "turns", int64(1)), scalar(e, "go", true), in[0]).Out(0)}
		})
		other := e.Body("other", nil, []*nn.Value{x}, func(e *nn.Edit, in ...*nn.Value) []*nn.Value {
			return []*nn.Value{e.Node(op.Plain("Neg"), in[0]).Out(0)}
		})
		return e.Node(std.IfConfig{Then: then, Else: other}, scalar(e, "which", true)).Out(0)
	})
	values := func(r *nn.StepResult) map[string]any {
		m := map[string]any{"loss": r.Loss}
		for p, d := range r.States {
			m[p.Name()] = d.Data()
		}
		for p, d := range r.Grads {
			m[p.Name()] = d.Data()
		}
		return m
	}
	if a, b := values(got), values(want); len(b) != 7 || !reflect.DeepEqual(a, b) {
		t.Errorf("in bodies\n%v\noutside\n%v", a, b)
	}
}

// TestCapturedAsInputs: values that bodies capture are not inputs of their node.
func TestCapturedAsInputs(t *testing.T) {
	err := nn.New("m").Edit(func(e *nn.Edit) {
		x := e.Input("x", "float32[2]")
		branch := func(name string) *nn.Body {
			return e.Body(name, nil, []*nn.Value{x}, func(e *nn.Edit, in ...*nn.Value) []*nn.Value {
				return []*nn.Value{e.Node(op.Plain("Neg"), in[0]).Out(0)}
			})
		}
		e.Node(std.IfConfig{Then: branch("then"), Else: branch("other")}, e.Input("flag", "bool[]"), x, x)
	})
	if err == nil || !strings.Contains(err.Error(), "If if: reads 5 values: want a condition, and the 2 that its branches capture") {
		t.Error(err)
	}
}

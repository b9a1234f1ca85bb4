package nn_test

import (
	"strings"
	"testing"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/layers"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/std"
)

// TestArguments: what makes no sense is an error, not a panic.
func TestArguments(t *testing.T) {
	g := nn.New("g")
	if err := g.Edit(func(e *nn.Edit) { e.Output("y", e.Apply(layers.ReLU{}, e.Input("x", "float32[N,2]"))) }); err != nil {
		t.Fatal(err)
	}
	edit := func(f func(e *nn.Edit)) func() error { return func() error { return g.Edit(f) } }
	for _, c := range []struct {
		name string
		try  func() error
		want string
	}{
		{"unknown operator", edit(func(e *nn.Edit) { e.Node(op.Plain("Typo"), e.Value("x")) }), `edit: there is no operator "Typo"`},
		{"required attributes", edit(func(e *nn.Edit) { e.Node(op.Plain("Concat"), e.Value("x")) }), "edit: Concat has required attributes"},
		{"no operator", edit(func(e *nn.Edit) { e.Node(nil, e.Value("x")) }), "edit: an operator is nil"},
		{"unknown attributes", edit(func(e *nn.Edit) { e.Configure(e.Value("y").Producer(), op.Plain("Typo")) }), `edit: there is no operator "Typo"`},
		{"no attributes", edit(func(e *nn.Edit) { e.Configure(e.Value("y").Producer(), nil) }), "edit: an operator is nil"},
		{"no selector", edit(func(e *nn.Edit) { e.Freeze(nil) }), "edit: "},
		{"no edit", edit(nil), "edit: the function is nil"},
		{"no plan", func() error { _, err := g.Plan(nil); return err }, "plan: the function is nil"},
		{"plan of nothing", func() error { return (*nn.Plan)(nil).Apply() }, "plan: there is no plan"},
		{"no graph to join", func() error { _, err := nn.Join(g, nil, map[string]string{"y": "x"}); return err }, "join: a graph is nil"},
		{"no graph to join to", func() error { _, err := nn.Join(nil, g, map[string]string{"y": "x"}); return err }, "join: a graph is nil"},
		{"nothing to trace", func() error { _, err := nn.Trace(nil, "x float32[2]"); return err }, "trace: the function is nil"},
		{"no parameter", func() error {
			_, err := g.Step(t.Context(), nil, nn.StepOptions{Loss: g.Outputs()[0], Params: []*nn.Param{nil}})
			return err
		}, "gradient: a parameter is nil"},
		{"unknown operator on nodes", func() error { _, err := std.Operators().ApplyN(1, op.Plain("Typo")); return err }, `there is no operator "Typo"`},
		{"operator on nothing", func() error { _, err := std.Operators().ApplyN(1, op.Plain("Relu")); return err }, "Relu: has no input"},
		{"no operator in a set", func() error { _, err := std.Operators().With(nil); return err }, "an operator has no name"},
	} {
		if err := c.try(); err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", c.name, err, c.want)
		}
	}
	if d := op.D(-1); d.String() != "?" || op.T(1, d).Elements() != -1 {
		t.Errorf("D(-1) is %v", d)
	}
}

package nn_test

import (
	"slices"
	"testing"

	"github.com/graft-ml/graft/internal/nntest"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/std"
)

// TestUserRewrite: a set takes rules on a user's operators, which leave alone what somebody reads inside, and operators that
// were put in the place of those that the rule was written for.
func TestUserRewrite(t *testing.T) {
	twice := op.Rewrite{Name: "hinge of a hinge", Pattern: op.On(hingeName, op.On(hingeName, op.Anything("x"))), Build: func(m op.Match) *op.Replacement {
		return &op.Replacement{Config: hingeName, In: []op.Source{m.Value("x")}}
	}}
	ops, err := std.Operators().With(hinge(op.Traits{}))
	if err != nil {
		t.Fatal(err)
	}
	replaced, err := ops.Rewriting(twice).With(hinge(op.Traits{}))
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name  string
		ops   op.Set
		shown bool // the inner value is an output
		want  []string
	}{
		{"no rule", ops, false, []string{"Hinge", "Hinge"}},
		{"a rule", ops.Rewriting(twice), false, []string{"Hinge"}},
		{"a value inside is read", ops.Rewriting(twice), true, []string{"Hinge", "Hinge"}},
		{"a replaced operator", replaced, false, []string{"Hinge", "Hinge"}},
		{"a union", ops.Rewriting(twice).Union(std.Operators()), false, []string{"Hinge"}},
	} {
		g := nn.NewGraph("rewritten", test.ops, map[string]int{"": nn.LatestOpset, "my": 1})
		nntest.Edit(t, g, func(e *nn.Edit) {
			h := e.Node(hingeName, e.Input("x", "float32[3]")).Out(0)
			e.Output("y", e.Node(hingeName, h).Out(0))
			if test.shown {
				e.Output("inside", h)
			}
		})
		g.SetFusion(true)
		x, err := dtype.FromSlice([]float32{-1, 0, 2}, 3)
		if err != nil {
			t.Fatal(err)
		}
		got, err := g.Operators(map[*nn.Value]dtype.Value{g.Inputs()[0]: x}, g.Outputs()...)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("%s: %v run, want %v", test.name, got, test.want)
		}
		nntest.Near(t, test.name, nntest.Run(t, g, x), []float64{0, 0, 2}, 0)
	}
}

package nn_test

import (
	"slices"
	"testing"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/initial"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/std"
)

// TestSeparate has two normalizations whose scales, variances, biases and means are two vectors, read through Identity as PyTorch writes
// them, and directly as simplified files have them: afterwards each is a parameter, with the role of its place. Vectors whose elements differ and weights that
// layers share by the same name stay shared.
func TestSeparate(t *testing.T) {
	norm := func(e *nn.Edit, x *nn.Value, p ...*nn.Value) *nn.Value {
		return e.Node(std.BatchNormalizationConfig{}, append([]*nn.Value{x}, p...)...).Out(0)
	}
	alias := func(e *nn.Edit, v *nn.Value, name string) *nn.Value {
		out := e.Node(op.Plain("Identity"), v).Out(0)
		e.RenameValue(out, name)
		return out
	}
	for name, test := range map[string]struct {
		build  func(e *nn.Edit, x *nn.Value) *nn.Value
		copies int
		names  []string
		roles  []nn.Role
	}{
		"through Identity": {func(e *nn.Edit, x *nn.Value) *nn.Value {
			one, zero := e.Param("a.weight", initial.Ones{}, 3), e.Param("a.bias", initial.Zeros{}, 3)
			x = norm(e, x, one, zero, alias(e, zero, "a.mean"), alias(e, one, "a.var"))
			return norm(e, x, alias(e, one, "b.weight"), alias(e, zero, "b.bias"), alias(e, zero, "b.mean"), alias(e, one, "b.var"))
		}, 6, []string{"a.weight", "a.bias", "a.mean", "a.var", "b.weight", "b.bias", "b.mean", "b.var"}, []nn.Role{nn.Weight, nn.Weight, nn.Statistic, nn.Statistic, nn.Weight, nn.Weight, nn.Statistic, nn.Statistic}},
		"directly": {func(e *nn.Edit, x *nn.Value) *nn.Value {
			one, zero := e.Param("one", initial.Ones{}, 3), e.Param("zero", initial.Zeros{}, 3)
			return norm(e, norm(e, x, one, zero, zero, one), one, zero, zero, one)
		}, 6, []string{"one", "zero", "zero_1", "one_1", "one_2", "zero_2", "zero_3", "one_3"}, []nn.Role{nn.Weight, nn.Weight, nn.Statistic, nn.Statistic, nn.Weight, nn.Weight, nn.Statistic, nn.Statistic}},
		"shared by one name": {func(e *nn.Edit, x *nn.Value) *nn.Value {
			w, b, m, v := e.Param("w", initial.Ones{}, 3), e.Param("b", initial.Zeros{}, 3), e.Param("m", initial.Zeros{}, 3), e.Param("v", initial.Ones{}, 3)
			return norm(e, norm(e, x, w, b, m, v), w, b, m, v)
		}, 0, []string{"w", "b", "m", "v"}, []nn.Role{nn.Weight, nn.Weight, nn.Statistic, nn.Statistic}},
		"of different elements": {func(e *nn.Edit, x *nn.Value) *nn.Value {
			b := e.Param("b", initial.Uniform{Low: 1, High: 2}, 3)
			return e.Node(op.Plain("Add"), e.Node(op.Plain("Mul"), x, b).Out(0), alias(e, b, "c")).Out(0)
		}, 0, []string{"b"}, []nn.Role{nn.Weight}},
	} {
		t.Run(name, func(t *testing.T) {
			g, copies := nn.New("n"), 0
			if err := g.Edit(func(e *nn.Edit) { e.Output("y", test.build(e, e.Input("x", "float32[N,3]"))) }); err != nil {
				t.Fatal(err)
			}
			before := len(slices.Collect(g.Params()))
			p, err := g.Plan(func(e *nn.Edit) { copies = e.Separate() })
			if err != nil || copies != test.copies {
				t.Fatalf("%d copies, %v, want %d", copies, err, test.copies)
			}
			if err := p.Apply(); err != nil {
				t.Fatal(err)
			}
			var names []string
			var roles []nn.Role
			for p := range g.Params() {
				names, roles = append(names, p.Name()), append(roles, p.Role())
			}
			if !slices.Equal(names, test.names) || !slices.Equal(roles, test.roles) {
				t.Errorf("parameters %v, %v, want %v, %v", names, roles, test.names, test.roles)
			}
			if err := p.Undo(); err != nil || len(slices.Collect(g.Params())) != before {
				t.Errorf("undone: %d parameters, %v, want %d", len(slices.Collect(g.Params())), err, before)
			}
		})
	}
}

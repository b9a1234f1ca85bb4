package nn_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/optest"
	"github.com/graft-ml/graft/nn/op/std"
	"gorgonia.org/tensor"
)

// TestDecompose checks that composite operators are replaced by their definitions without changing the model's results.
func TestDecompose(t *testing.T) {
	dir := os.DirFS("op/std/testdata/golden")
	files, err := os.ReadDir("op/std/testdata/golden")
	if err != nil {
		t.Fatal(err)
	}
	total := map[string]int{}
	for _, f := range files {
		name, ok := strings.CutSuffix(f.Name(), ".jsonl")
		if !ok {
			continue
		}
		cases, err := optest.Golden(dir, f.Name(), std.Operators())
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range cases {
			o, err := std.Operators().Of(c.Config)
			if err != nil || o.Decompose == nil || c.Train {
				continue
			}
			for _, symbols := range []bool{false, true} {
				done, err := decomposed(t, c, symbols)
				if err != nil {
					t.Errorf("%s, sizes known: %v: %v", c.Name, !symbols, err)
				}
				if done {
					total[name]++
				}
			}
		}
		if len(cases) > 0 && total[name] == 0 {
			if o, err := std.Operators().Of(cases[0].Config); err == nil && o.Decompose != nil {
				t.Errorf("%s: nothing was decomposed", name)
			}
		}
	}
	t.Logf("%d operators", len(total))
}

// decomposed compares a model of one node before and after.
func decomposed(t *testing.T, c optest.Case, symbols bool) (done bool, err error) {
	o, err := std.Operators().Of(c.Config)
	if err != nil {
		return false, err
	}
	feed := nn.Feed{}
	g := nn.NewGraph("one", std.Operators(), map[string]int{"": std.Operators().Newest("")})
	var n *nn.Node
	if err := g.Edit(func(e *nn.Edit) {
		var in []*nn.Value
		for i, v := range c.In {
			x, ok := v.(*tensor.Dense)
			switch {
			case v == nil:
				in = append(in, nil)
			case ok && !dtype.DTypeOf(x).IsFloat():
				in = append(in, e.Const(fmt.Sprintf("c%d", i), x))
			default:
				typ := op.TypeOf(v)
				if symbols && ok && i == 0 {
					for k := range typ.Shape {
						typ.Shape[k] = op.Sym(fmt.Sprintf("N%d", k))
					}
				}
				in = append(in, e.Input(fmt.Sprintf("x%d", i), typ.String()))
				feed[fmt.Sprintf("x%d", i)] = v
			}
		}
		n = e.NodeN(c.Config, max(c.Outputs, 1), in...)
		for k := range max(c.Outputs, 1) {
			if !slices.Contains(c.Skip, k) && e.Err() == nil {
				e.Output(fmt.Sprintf("y%d", k), n.Out(k))
			}
		}
	}); err != nil {
		return false, nil // written for an earlier version, or of sizes that must be known
	}
	want, err := g.Eval(t.Context(), feed)
	if err != nil {
		return false, nil
	}
	err = g.Edit(func(e *nn.Edit) { e.Decompose(n) })
	if err != nil {
		return false, err
	}
	for n := range g.Nodes() {
		if n.Op() == o {
			return false, fmt.Errorf("%s is left", n.Type())
		}
	}
	got, err := g.Eval(t.Context(), feed)
	if err != nil {
		return false, err
	}
	for name, w := range want {
		tol := dtype.Tolerance{Rtol: 1e-5, Atol: 1e-5}
		if dtype.DTypeOf(w).Bits() < 32 { // every part rounds
			tol = dtype.Tolerance{Rtol: 2e-2, Atol: 2e-2}
		}
		if _, err := tol.Compare(got[name], w); err != nil {
			return false, fmt.Errorf("%s: %v", name, err)
		}
	}
	return true, nil
}

package nn_test

import (
	"slices"
	"testing"

	"github.com/graft-ml/graft/internal/kernel/kerneltest"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/op"
)

// TestDecomposeMany: nodes are decomposed in time in proportion to them, in any order: types are inferred once for all.
func TestDecomposeMany(t *testing.T) {
	looks := func(n int, decompose func(e *nn.Edit)) int {
		g := nn.New("g")
		if err := g.Edit(func(e *nn.Edit) {
			x := e.Input("x", "float32[N,4]")
			for range n {
				x = e.Node(op.Plain("Gelu"), x).Out(0)
			}
			e.Output("y", x)
		}); err != nil {
			t.Fatal(err)
		}
		seen := &kerneltest.Looks{Context: t.Context()}
		if err := g.EditUntil(seen, decompose); err != nil {
			t.Fatal(err)
		}
		for x := range g.Nodes() {
			if x.Op().Name == "Gelu" || x.Out(0).Type().String() != "float32[N,4]" && x.Out(0).Type().Rank() != 0 {
				t.Errorf("%v gives %v", x.Op().Name, x.Out(0).Type())
			}
		}
		return seen.In("")
	}
	for _, decompose := range []func(e *nn.Edit){
		func(e *nn.Edit) { e.Decompose(e.Select()...) },
		func(e *nn.Edit) {
			list := e.Select()
			slices.Reverse(list)
			e.Decompose(list...)
		},
	} {
		if few, many := looks(10, decompose), looks(80, decompose); few == 0 || many > 16*few {
			t.Errorf("%d looks for 10 nodes, %d for 80", few, many)
		}
	}
}

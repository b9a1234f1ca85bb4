package nn_test

import (
	"testing"

	"github.com/graft-ml/graft/internal/nntest"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/layers"
)

// A plan's costs are those of the graphs before and after it, also where an edit puts nodes out of order.
func TestPlanCostIsTheSummarys(t *testing.T) {
	for name, change := range map[string]func(e *nn.Edit){
		"swap":   func(e *nn.Edit) { e.SwapActivations(layers.ReLU{}, nn.Ops("Relu")) },
		"deepen": func(e *nn.Edit) { e.Deepen(node(e, "act").Out(0), nn.Deepening{Layer: layers.Conv{Kernel: []int{3}}}) },
		"kernel": func(e *nn.Edit) { e.SetKernel(node(e, "a"), 5, 5) },
	} {
		g := nn.New("cnn")
		if err := g.Edit(func(e *nn.Edit) {
			x := e.Input("x", "float32[N,1,8,8]")
			h := e.Apply(nn.Sequential{layers.Conv{Out: 4, Kernel: []int{3}, Same: true, Name: "a"}, layers.ReLU{Name: "act"}, layers.Conv{Out: 4, Kernel: []int{3}, Same: true, Name: "b"}, layers.ReLU{}}, x)
			e.Output("y", h)
		}); err != nil {
			t.Fatal(err)
		}
		was := g.Summary().Total
		plan, err := g.Plan(change)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if err := plan.Apply(); err != nil {
			t.Fatal(err)
		}
		is := g.Summary().Total
		before, after := plan.Cost()
		if before.MACs != was.MACs || after.MACs != is.MACs || before.Params != was.Params || after.Params != is.Params {
			t.Errorf("%s: the plan says %+v → %+v, the summaries %+v → %+v", name, before, after, was, is)
		}
	}
	plan, err := nntest.Small(t).Plan(func(e *nn.Edit) { e.Freeze() })
	if before, after := plan.Cost(); err != nil || before != (nn.Cost{}) || after != (nn.Cost{}) {
		t.Errorf("a plan that resizes nothing says %+v → %+v, %v", before, after, err)
	}
}

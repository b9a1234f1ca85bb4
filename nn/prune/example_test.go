package prune_test

import (
	"context"
	"fmt"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/layers"
	"github.com/graft-ml/graft/nn/prune"
)

// Example halves the hidden units of a network: the adjacent layers follow, input and output keep their sizes.
func Example() {
	g := nn.New("perceptron")
	err := g.Edit(func(e *nn.Edit) {
		x := e.Input("x", "float32[N,4]")
		e.Output("y", e.Apply(nn.Sequential{layers.Linear{Out: 8, Name: "hidden"}, layers.ReLU{}, layers.Linear{Out: 2, Name: "top"}}, x))
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	p := prune.Pruner{Target: prune.Target{Channels: 0.5}, By: prune.L1}
	plan, err := p.Plan(context.Background(), g)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(plan)
	if err := plan.Apply(); err != nil {
		fmt.Println(err)
	}
	// Output:
	// hidden: axis 0 of hidden.weight 8 → 4
	// hidden: axis 0 of hidden.bias 8 → 4
	// top: axis 1 of top.weight 8 → 4
	// parameters 58 → 30 (-48.3 %), multiply-adds 48 → 24 (-50.0 %)
}

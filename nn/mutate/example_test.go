package mutate_test

import (
	"fmt"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/layers"
	"github.com/graft-ml/graft/nn/mutate"
)

// Example prints three random changes of one network, none of them applied; the same seed gives the same three.
func Example() {
	g := nn.New("network")
	err := g.Edit(func(e *nn.Edit) {
		x := e.Input("x", "float32[N,4]")
		e.Output("y", e.Apply(nn.Sequential{layers.Linear{Out: 8, Name: "hidden"}, layers.ReLU{Name: "act"}, layers.Linear{Out: 2, Name: "top"}}, x))
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	m := mutate.Mutator{Seed: 3}
	for step := range 3 {
		plan, change, err := m.Plan(g, step)
		if err != nil {
			fmt.Println(err)
			return
		}
		before, after := plan.Cost()
		fmt.Printf("%v: %d → %d parameters\n", change, before.Params, after.Params)
	}
	// Output:
	// narrow axis 0 of hidden.weight from 8 to 7: 58 → 51 parameters
	// add-edge from hidden to top: 58 → 58 parameters
	// narrow axis 0 of hidden.weight from 8 to 6: 58 → 44 parameters
}

package optim_test

import (
	"fmt"
	"log"

	"github.com/graft-ml/graft/optim"
	"gorgonia.org/tensor"
)

// Example minimizes x² with warm-up and a cosine schedule.
func Example() {
	rule := optim.SGD{LR: 0.2, Momentum: 0.5}
	rate := optim.Warmup{Steps: 5, Then: optim.CosineLR{}}
	w := tensor.New(tensor.WithShape(1), tensor.WithBacking([]float64{1}))
	grad := tensor.New(tensor.WithShape(1), tensor.WithBacking([]float64{0}))
	slots, err := rule.Init(w)
	if err != nil {
		log.Fatal(err)
	}
	for step := range 100 {
		grad.Float64s()[0] = 2 * w.Float64s()[0]
		if err := rule.Step(w, grad, slots, optim.Hyper{Rate: rate.At(step, 100), Step: step}); err != nil {
			log.Fatal(err)
		}
	}
	fmt.Printf("%s, x is below 1e-6: %v\n", slots[0].Name, max(w.Float64s()[0], -w.Float64s()[0]) < 1e-6)
	// Output: momentum_buffer, x is below 1e-6: true
}

package step_test

import (
	"fmt"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/layers"
	"github.com/graft-ml/graft/optim"
	"github.com/graft-ml/graft/train"
	"github.com/graft-ml/graft/train/step"
)

// The step of a small classifier: s.Graph and s.Start are models to save with onnxio.Save.
func Example() {
	g := nn.New("net")
	err := g.Edit(func(e *nn.Edit) { e.Output("scores", e.Apply(layers.Linear{Out: 3}, e.Input("x", "float32[N,4]"))) })
	if err != nil {
		fmt.Println(err)
		return
	}
	s, err := step.Exporter{Config: train.Config{Rule: optim.SGD{LR: 0.1, Momentum: 0.9}, ClipNorm: 1}}.Export(g)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, p := range s.Inputs() {
		fmt.Println(p.Name, p.Type)
	}
	for _, v := range s.Variables {
		fmt.Println(v.Kind, v.Name, "→", v.Next)
	}
	// Output:
	// x float32[N,4]
	// target int64[N]
	// step int64[]
	// rate float32[]
	// parameter linear1.weight → linear1.weight.next
	// state linear1.weight.momentum_buffer → linear1.weight.momentum_buffer.next
	// parameter linear1.bias → linear1.bias.next
	// state linear1.bias.momentum_buffer → linear1.bias.momentum_buffer.next
}

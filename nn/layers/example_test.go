package layers_test

import (
	"fmt"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/initial"
	"github.com/graft-ml/graft/nn/layers"
)

// A residual network for images of any number.
func Example() {
	g := nn.New("net")
	err := g.Edit(func(e *nn.Edit) {
		x := e.Input("x", "float32[N,3,16,16]")
		block := layers.Residual{Body: nn.Sequential{
			layers.Conv{Kernel: []int{3}, Same: true}, layers.BatchNorm{}, layers.ReLU{}, layers.Conv{Kernel: []int{3}, Same: true},
		}}
		y := e.Apply(nn.Sequential{
			layers.Conv{Out: 8, Kernel: []int{3}, Stride: []int{2}, Init: initial.KaimingNormal{}, Name: "stem"},
			block, layers.GlobalAvgPool{}, layers.Flatten{}, layers.Linear{Out: 10, Name: "top"},
		}, x)
		e.Output("scores", y)
	})
	fmt.Println(err, g.Outputs()[0].Type())
	// Output: <nil> float32[N,10]
}

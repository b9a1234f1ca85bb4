package nn_test

import (
	"fmt"

	"github.com/graft-ml/graft/nn"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// A function written with Gorgonia's own operators becomes a graph. The batch stays symbolic, also
// in the target of Reshape, which Gorgonia knows as a number.
func ExampleTrace() {
	half := func(x ...*gorgonia.Node) (gorgonia.Nodes, error) {
		n := x[0].Shape()[0]
		y, err := gorgonia.Reshape(x[0], tensor.Shape{n, 12})
		if err != nil {
			return nil, err
		}
		y, err = gorgonia.Tanh(y)
		return gorgonia.Nodes{y}, err
	}
	g, err := nn.Trace(half, "x float32[N,3,4]")
	if err != nil {
		fmt.Println(err)
		return
	}
	for n := range g.Nodes() {
		fmt.Println(n.Type(), n.Out(0).Type())
	}
	// Output:
	// Reshape float32[N,12]
	// Tanh float32[N,12]
}

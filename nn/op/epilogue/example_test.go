package epilogue_test

import (
	"fmt"

	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/epilogue"
	"gorgonia.org/tensor"
)

// A product of two inputs takes up the ReLU that follows it: its kernel is given the list and applies it to what it computed.
func Example() {
	relu := &epilogue.Step{Kind: epilogue.Activate, Slots: []int{0}, DType: dtype.Float32, Func: epilogue.Func{Kind: epilogue.Relu}}
	list, ok := epilogue.List{}.With(relu, dtype.Float32, 2, op.Meeting{FirstInputs: 2, SecondInputs: 1})
	fmt.Println(ok)

	product := tensor.New(tensor.WithShape(2, 2), tensor.WithBacking([]float32{-1, 2, 3, -4}))
	list.Apply(nil, make([]*tensor.Dense, 2), product, 2, 1)
	fmt.Println(product.Data())
	// Output:
	// true
	// [0 2 3 0]
}

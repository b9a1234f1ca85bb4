package epilogue_test

import (
	"fmt"

	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/epilogue"
	"gorgonia.org/tensor"
)

// The product of two matrices can compute the ReLU that follows it: its kernel applies the list to its result.
func Example() {
	relu, err := epilogue.Function("Relu", 0, 0)
	if err != nil {
		fmt.Println(err)
		return
	}
	next := &epilogue.Step{Kind: epilogue.Activate, Slots: []int{0}, DType: dtype.Float32, Func: relu}
	list, ok := epilogue.List{}.With(next, dtype.Float32, 2, op.Meeting{FirstInputs: 2, SecondInputs: 1})
	fmt.Println(ok)

	product := tensor.New(tensor.WithShape(2, 2), tensor.WithBacking([]float32{-1, 2, 3, -4}))
	list.Apply(nil, make([]*tensor.Dense, 2), product, 2, 1)
	fmt.Println(product.Data())
	// Output:
	// true
	// [0 2 3 0]
}

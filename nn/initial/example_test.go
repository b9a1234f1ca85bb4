package initial_test

import (
	"fmt"
	"math/rand/v2"

	"github.com/graft-ml/graft/nn/initial"
)

// The kernel of a convolution that copies its input, and a bias drawn as PyTorch draws it.
func Example() {
	kernel := make([]float64, 2*2*3)
	initial.Dirac{}.Fill(kernel, []int{2, 2, 3}, nil)
	fmt.Println(kernel)
	bias := make([]float64, 2)
	initial.BiasFanIn{Fan: 4}.Fill(bias, []int{2}, rand.New(rand.NewPCG(1, 2)))
	fmt.Println(max(bias[0], bias[1]) < 0.5)
	// Output:
	// [0 1 0 0 0 0 0 0 0 0 1 0]
	// true
}

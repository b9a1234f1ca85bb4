package std_test

import (
	"fmt"
	"log"

	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op/std"
)

// An operator of the standard is a configuration; the set computes it on values at once.
func Example() {
	x, err := dtype.FromSlice([]float32{1, 2, 3, 4, 5, 6}, 2, 3)
	if err != nil {
		log.Fatal(err)
	}
	out, err := std.Operators().Compute(1, std.TransposeConfig{Perm: []int{1, 0}}, 0, x)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(out[0].Shape(), out[0].Data())
	// Output: (3, 2) [1 4 2 5 3 6]
}

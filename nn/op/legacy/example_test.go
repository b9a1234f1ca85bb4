package legacy_test

import (
	"fmt"
	"log"

	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op/legacy"
	"github.com/graft-ml/graft/nn/op/std"
)

// A set of operators with those that the standard withdrew: α·x + β.
func Example() {
	ops, err := legacy.With(std.Operators())
	if err != nil {
		log.Fatal(err)
	}
	x, err := dtype.FromSlice([]float32{1, 2}, 2)
	if err != nil {
		log.Fatal(err)
	}
	out, err := ops.Compute(1, legacy.AffineConfig{Beta: 1}, 0, x)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(out[0].Data())
	// Output: [2 3]
}

package contrib_test

import (
	"fmt"
	"log"

	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op/contrib"
	"github.com/graft-ml/graft/nn/op/std"
)

// A set of operators with those that ONNX Runtime adds to the standard.
func Example() {
	ops, err := contrib.With(std.Operators())
	if err != nil {
		log.Fatal(err)
	}
	x, err := dtype.FromSlice([]float32{0, 0}, 2)
	if err != nil {
		log.Fatal(err)
	}
	out, err := ops.Compute(1, contrib.QuickGeluConfig{}, 0, x)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(out[0].Data())
	// Output: [0 0]
}

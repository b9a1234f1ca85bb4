package optest_test

import (
	"fmt"

	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/optest"
)

// Example runs all checks of one use of an operator outside of a test; Run makes a subtest of each.
func Example() {
	fmt.Println(optest.Check(optest.Case{Config: op.Plain("Tanh"), In: []dtype.Value{optest.Rand(1, 2, 3)}}))
	// Output: <nil>
}

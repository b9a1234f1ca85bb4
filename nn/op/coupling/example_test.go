package coupling_test

import (
	"fmt"

	"github.com/graft-ml/graft/nn/op/coupling"
)

// The channels of the second input of a Concat follow, in its output, the sixteen of the first.
func Example() {
	c := coupling.Coupling{
		From: coupling.In(1, 1), To: coupling.Out(0, 1),
		Map: coupling.Map{Relation: coupling.Offset, Shift: 16},
	}
	fmt.Printf("%+v\n", c.Map.Shift)
	// Output: 16
}

package trait_test

import (
	"fmt"

	"github.com/graft-ml/graft/nn/op/trait"
)

// Example computes the bounds of a ReLU's results after a clip.
func Example() {
	relu := trait.Interval{Lo: 0, Hi: trait.Anywhere().Hi}
	fmt.Println(relu.Clamped(trait.Interval{Lo: -1, Hi: -1}, trait.Interval{Lo: 6, Hi: 6}))
	// Output: {0 6}
}

package boxes_test

import (
	"fmt"

	"github.com/graft-ml/graft/train/boxes"
)

// Example computes the intersection over union of two boxes.
func Example() {
	a, b := boxes.Box{X0: 0, Y0: 0, X1: 10, Y1: 10}, boxes.Box{X0: 5, Y0: 0, X1: 15, Y1: 10}
	fmt.Printf("%.2f\n", a.IoU(b))
	// Output: 0.33
}

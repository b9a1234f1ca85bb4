package loops_test

import (
	"fmt"

	"github.com/graft-ml/graft/nn/op/loops"
)

// The loop of an operator that adds one number for each of three rows of 32 elements.
func Example() {
	rows, ok := loops.Broadcast(1, []int{3, 1}, []int{3, 32})
	fmt.Println(rows, ok)

	add := &loops.Loop{
		N:       3 * 32,
		Reads:   []loops.Access{{Slot: 0, Inner: 1, Count: 3 * 32}, rows},
		InPlace: []int{0},
		Run: func(dst []float32, in []loops.Block) { // all elements of dst are in one row
			for i, x := range in[0].Elems {
				dst[i] = x + in[1].Elems[0]
			}
		},
	}
	y := make([]float32, 2)
	add.Run(y, []loops.Block{{Elems: []float32{1, 2}}, {Elems: []float32{10}, One: true}})
	fmt.Println(y)
	// Output:
	// {1 32 3} true
	// [11 12]
}

package kernel

import (
	"fmt"
	"math"
	"testing"
)

// Rows of all small lengths, one of them with a strange number in it.
func TestShortRows(t *testing.T) {
	for cols := 1; cols < 70; cols++ {
		for _, rows := range []int{1, 2, 7} {
			x, f := small(rows*cols, 1, 331), small(rows, 2, 0)
			x[len(x)-1] = float32(math.NaN())
			what := fmt.Sprint(rows, " rows of ", cols)
			pool := &PoolShape{N: 1, C: rows, In: []int{cols}, Kernel: []int{cols}, Out: []int{1}, Stride: []int{1}, Dilation: []int{1}, PadBegin: []int{0}, PadEnd: []int{0}}
			against(t, what+", means", rows, 0, func(y []float32) { AveragePool(nil, pool, x, y) })
			against(t, what+", products", len(x), 0, func(y []float32) { BinaryCol(nil, OpMul, rows, cols, y, x, f) })
			against(t, what+", products in place", len(x), 0, func(y []float32) { BinaryCol(nil, OpMul, rows, cols, y, y, f) })
		}
	}
}

package pooling

import (
	"fmt"
	"math"
	"testing"

	"github.com/graft-ml/graft/internal/kernel/elementwise"
	"github.com/graft-ml/graft/internal/kernel/kerneltest"
)

// TestShortRows checks rows of all small lengths, one of them with a NaN or an infinity.
func TestShortRows(t *testing.T) {
	for cols := 1; cols < 70; cols++ {
		for _, rows := range []int{1, 2, 7} {
			x, f := kerneltest.Small(rows*cols, 1, 331), kerneltest.Small(rows, 2, 0)
			x[len(x)-1] = float32(math.NaN())
			what := fmt.Sprint(rows, " rows of ", cols)
			pool := &Shape{N: 1, C: rows, In: []int{cols}, Kernel: []int{cols}, Out: []int{1}, Stride: []int{1}, Dilation: []int{1}, PadBegin: []int{0}, PadEnd: []int{0}}
			kerneltest.Against(t, what+", means", rows, 0, func(y []float32) { Average(nil, pool, x, y, nil) })
			kerneltest.Against(t, what+", products", len(x), 0, func(y []float32) { elementwise.BinaryCol(nil, elementwise.OpMul, rows, cols, y, x, f) })
			kerneltest.Against(t, what+", products in place", len(x), 0, func(y []float32) { elementwise.BinaryCol(nil, elementwise.OpMul, rows, cols, y, y, f) })
		}
	}
}

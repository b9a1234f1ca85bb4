package contrib_test

import (
	"math"
	"testing"

	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op/optest"
	"gorgonia.org/tensor"
)

// TestInverseOfSingular has what ONNX Runtime gives for matrices whose decomposition divides by zero.
func TestInverseOfSingular(t *testing.T) {
	inf, nan := float32(math.Inf(1)), float32(math.NaN())
	for _, c := range []struct{ x, want []float32 }{
		{[]float32{0}, []float32{inf}},
		{[]float32{1, 2, 2, 4}, []float32{-inf, inf, inf, -inf}},
		{[]float32{0, 0, 0, 0}, []float32{nan, nan, nan, inf}},
		{[]float32{0, 1, 0, 1}, []float32{inf, -inf, 0, 1}},
		{[]float32{1, 0, 0, 0, 1, 0, 0, 0, 0}, []float32{nan, nan, nan, nan, nan, nan, nan, nan, inf}},
		{[]float32{1, 2, 3, 2, 4, 6, 1, 1, 1}, []float32{nan, nan, nan, -inf, inf, nan, inf, -inf, nan}},
		{[]float32{2, 4, 6, 1, 2, 3, 5, 7, 9}, []float32{nan, nan, nan, inf, -inf, nan, -inf, inf, nan}},
		{[]float32{0, 2, 4, 0}, []float32{0, 0.25, 0.5, 0}},
	} {
		n := int(math.Sqrt(float64(len(c.x))))
		// another matrix beside it is not affected
		whole := append(append([]float32{}, c.x...), make([]float32, n*n)...)
		for i := range n {
			whole[n*n+i*n+i] = 2
		}
		y, err := optest.Forward(optest.Case{Ops: set(t), Config: plain("Inverse"), In: in(optest.Floats([]int{2, n, n}, whole...))})
		if err != nil {
			t.Fatal(err)
		}
		got := dtype.Slice[float32](y[0].(*tensor.Dense))
		for i, w := range c.want {
			if g := got[i]; g != w && (g == g || w == w) {
				t.Errorf("inverse of %v: %v, want %v", c.x, got[:n*n], c.want)
				break
			}
		}
		if last := got[len(got)-1]; last != 0.5 {
			t.Errorf("the inverse beside that of %v has %v, want 0.5", c.x, last)
		}
	}
}

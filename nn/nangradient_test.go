package nn_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/std"
	"gorgonia.org/tensor"
)

// TestBentGradientOfNaN: where x is not a number, the gradient of LeakyRelu and PRelu is that of negative numbers, and
// a slope's is not a number, as in PyTorch.
func TestBentGradientOfNaN(t *testing.T) {
	alpha := float32(0.25)
	for _, float := range []string{"float32", "float64"} {
		for _, n := range []int{1, 3, 40} {
			for _, slopes := range []int{0, 1, n} {
				g := nn.New("g")
				if err := g.Edit(func(e *nn.Edit) {
					x := e.Input("x", fmt.Sprintf("%s[2,%d]", float, n))
					y := e.Node(std.LeakyReluConfig{Alpha: &alpha}, x)
					if slopes > 0 {
						y = e.Node(op.Plain("PRelu"), x, e.Input("slope", fmt.Sprintf("%s[%d]", float, slopes)))
					}
					e.Output("loss", e.Node(std.ReduceSumConfig{KeepDims: new(bool)}, y.Out(0)).Out(0))
				}); err != nil {
					t.Fatal(err)
				}
				numbers := func(v float64, shape ...int) *tensor.Dense {
					list := make([]float64, tensor.Shape(shape).TotalSize())
					for i := range list {
						list[i] = v
					}
					kind, err := dtype.Parse(float)
					if err != nil {
						t.Fatal(err)
					}
					d, err := dtype.FromFloats(kind, list, shape...)
					if err != nil {
						t.Fatal(err)
					}
					return d
				}
				feed, by := nn.Feed{"x": numbers(math.NaN(), 2, n)}, []string{"x"}
				if slopes > 0 {
					feed["slope"], by = numbers(0.25, slopes), []string{"x", "slope"}
				}
				got, err := g.Grad(t.Context(), feed, "loss", by...)
				if err != nil {
					t.Fatal(err)
				}
				for _, name := range by {
					d, err := dtype.Float64s(got[name].(*tensor.Dense))
					if err != nil {
						t.Fatal(err)
					}
					for _, v := range d {
						if name == "x" && v != 0.25 || name == "slope" && !math.IsNaN(v) {
							t.Fatalf("%s, %d elements, %d slopes: the gradient by %s is %v", float, n, slopes, name, v)
						}
					}
				}
			}
		}
	}
}

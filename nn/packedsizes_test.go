package nn_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/graft-ml/graft/internal/kernel/kerneltest"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/initial"
	"github.com/graft-ml/graft/nn/op/std"
)

// Packed weights are kept from run to run. Images of which other taps of the kernel read something need others.
func TestPackedForImagesOfAnySize(t *testing.T) {
	const c, d = 8, 4
	integers := initial.FillerFunc(func(v []float64, _ []int, _ *rand.Rand) {
		for i := range v {
			v[i] = float64(i%13) - 6
		}
	})
	g := nn.New("atrous")
	if err := g.Edit(func(e *nn.Edit) {
		y := e.Op("conv", std.ConvConfig{Pads: []int{d, d, d, d}, Dilations: []int{d, d}}, 1, e.Input("x", "float32[1,8,H,W]"), e.Param("w", integers, c, c, 3, 3))
		e.Output("y", y[0])
	}); err != nil {
		t.Fatal(err)
	}
	var weights []float32
	for p := range g.Params() {
		weights = dtype.Elems[float32](p.Data())
	}
	for range 2 {
		for _, n := range []int{2, 9, 1, 5, 2} {
			in := dtype.New(dtype.Float32, 1, c, n, n)
			x := dtype.Elems[float32](in)
			for i := range x {
				x[i] = float32(i%7) - 3
			}
			out, err := g.Run(t.Context(), in)
			if err != nil {
				t.Fatal(err)
			}
			want := make([]float64, c*n*n)
			for at := range want {
				o, row, column := at/(n*n), at/n%n, at%n
				for i := range c {
					for k := range 9 {
						if h, v := row+(k/3-1)*d, column+(k%3-1)*d; h >= 0 && h < n && v >= 0 && v < n {
							want[at] += float64(weights[(o*c+i)*9+k] * x[(i*n+h)*n+v])
						}
					}
				}
			}
			kerneltest.Near(t, fmt.Sprint(n), kerneltest.Wide(dtype.Elems[float32](out[0])), want, 0)
		}
	}
}

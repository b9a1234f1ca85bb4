package contrib_test

import (
	"math"
	"testing"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/initial"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/contrib"
	"github.com/graft-ml/graft/nn/op/optest"
	"github.com/graft-ml/graft/nn/op/std"
	"gorgonia.org/tensor"
)

// TestQuantizedStraightThrough checks that gradients pass straight through quantization and
// dequantization, except for clipped values, in the operators of either domain: sum(Q(x)·Q(w)) has the
// gradients of the product of rounded values.
func TestQuantizedStraightThrough(t *testing.T) {
	axis := pointer(1)
	type pair struct{ quantize, dequantize op.Config }
	for name, p := range map[string]pair{
		"com.microsoft": {contrib.QuantizeLinearConfig{Axis: axis}, contrib.DequantizeLinearConfig{Axis: axis}},
		"from standard": {std.QuantizeLinearConfig{Axis: axis}, contrib.DequantizeLinearConfig{Axis: axis}},
		"to standard":   {contrib.QuantizeLinearConfig{Axis: axis}, std.DequantizeLinearConfig{Axis: axis}},
		"default axis":  {contrib.QuantizeLinearConfig{}, contrib.DequantizeLinearConfig{}},
	} {
		t.Run(name, func(t *testing.T) {
			scales, zeros := []float32{0.5, 0.25}, []int{3, -2}
			g := nn.NewGraph("pair", set(t), map[string]int{"": 21, contrib.Domain: 1})
			err := g.Edit(func(e *nn.Edit) {
				rounded := func(x *nn.Value, name string) *nn.Value {
					scale := e.Const(name+" scale", optest.Tensor(scales, 2))
					zero := e.Const(name+" zero", typed(dtype.Int8, zeros, 2).(*tensor.Dense))
					q := e.Node(p.quantize, x, scale, zero)
					return e.Node(p.dequantize, q.Out(0), scale, zero).Out(0)
				}
				w := e.Param("w", initial.Zeros{}, 2, 2)
				e.SetData(w, optest.Tensor([]float32{1.3, -2.2, 63, 32.1}, 2, 2)) // 63 is beyond (127−3)·0.5, 32.1 is not beyond (127+2)·0.25
				y := e.Node(op.Plain("Mul"), rounded(e.Input("x", "float32[2,2]"), "x"), rounded(w, "w")).Out(0)
				e.Output("loss", e.Node(std.ReduceSumConfig{KeepDims: new(bool)}, y).Out(0))
			})
			if err != nil {
				t.Fatal(err)
			}
			if w, err := g.Value("w"); err != nil || !w.Param().Trainable() {
				t.Errorf("the weight is %v, %v", w.Param().Role(), err)
			}
			x := []float32{0.6, -1.1, 3, -60}
			got, err := g.Grad(t.Context(), nn.Feed{"x": optest.Tensor(x, 2, 2)}, "loss", "x", "w")
			if err != nil {
				t.Fatal(err)
			}
			round := func(v []float32) (y, slope []float64) {
				for i, v := range v {
					s, z := float64(scales[i%2]), float64(zeros[i%2])
					k := math.RoundToEven(float64(v)/s) + z
					inside := 1.0
					if k < -128 || k > 127 {
						inside = 0
					}
					y, slope = append(y, (min(max(k, -128), 127)-z)*s), append(slope, inside)
				}
				return y, slope
			}
			a, da := round(x)
			b, db := round([]float32{1.3, -2.2, 63, 32.1})
			if db[2] != 0 || db[3] != 1 || da[3] != 0 {
				t.Fatal("the values do not lie where the test wants them")
			}
			loss := 0.0
			for i := range a {
				loss += a[i] * b[i]
			}
			numbers := func(name string) []float64 {
				d, err := dtype.Float64s(got[name].(*tensor.Dense))
				if err != nil {
					t.Fatal(err)
				}
				return d
			}
			if math.Abs(numbers("loss")[0]-loss) > 1e-3 {
				t.Errorf("the loss is %v, want %v", numbers("loss")[0], loss)
			}
			for i := range a {
				if dx, dw := numbers("x")[i], numbers("w")[i]; math.Abs(dx-b[i]*da[i]) > 1e-4 || math.Abs(dw-a[i]*db[i]) > 1e-4 {
					t.Errorf("element %d: gradients %v and %v, want %v and %v", i, dx, dw, b[i]*da[i], a[i]*db[i])
				}
			}
		})
	}
}

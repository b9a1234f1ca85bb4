package nn_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/initial"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/std"
	"gorgonia.org/tensor"
)

// TestQuantizedGradient has a weight and a value quantized and dequantized, by one scale and by one for each column: outputs
// are as without gradients, and gradients pass straight through where nothing was cut off, as PyTorch's fake quantization.
func TestQuantizedGradient(t *testing.T) {
	for _, scales := range [][]float32{{0.5}, {0.5, 0.25}} {
		for _, zero := range []bool{false, true} {
			for _, twice := range []bool{false, true} { // scale and zero point stored once, or once for each node
				t.Run(fmt.Sprint(scales, zero, twice), func(t *testing.T) {
					g := nn.New("g")
					if err := g.Edit(func(e *nn.Edit) {
						axis := 1
						number := func(name string, v any, shape ...int) *nn.Value {
							var d *tensor.Dense
							var err error
							switch v := v.(type) {
							case []float32:
								d, err = dtype.FromSlice(v, shape...)
							case []int8:
								d, err = dtype.FromSlice(v, shape...)
							}
							if err != nil {
								t.Fatal(err)
							}
							return e.Const(name, d)
						}
						rounded := func(x *nn.Value, name string) *nn.Value {
							in := func(i int) []*nn.Value {
								if twice {
									i = 0
								}
								list := []*nn.Value{number(fmt.Sprint(name, "scale", i), scales, len(scales))}
								if zero {
									list = append(list, number(fmt.Sprint(name, "zero", i), make([]int8, len(scales)), len(scales)))
								}
								return list
							}
							constants := in(0)
							quantize := std.QuantizeLinearConfig{Axis: &axis}
							if !zero {
								quantize.Output = dtype.Int8
							}
							q := e.Node(quantize, append([]*nn.Value{x}, constants...)...)
							if twice {
								constants = in(1)
							}
							return e.Node(std.DequantizeLinearConfig{Axis: &axis}, append([]*nn.Value{q.Out(0)}, constants...)...).Out(0)
						}
						w, err := dtype.FromSlice([]float32{1.3, -2.2, 100, -0.1}, 2, 2) // 100 is beyond 127 scales
						if err != nil {
							t.Fatal(err)
						}
						weight := e.Param("w", initial.Zeros{}, 2, 2)
						e.SetData(weight, w)
						y := e.Node(op.Plain("MatMul"), rounded(e.Input("x", "float32[2,2]"), "x"), rounded(weight, "w"))
						e.Output("loss", e.Node(std.ReduceSumConfig{KeepDims: new(bool)}, y.Out(0)).Out(0))
					}); err != nil {
						t.Fatal(err)
					}
					w, err := g.Value("w")
					if err != nil {
						t.Fatal(err)
					}
					if !w.Param().Trainable() {
						t.Error("the weight is ", w.Param().Role())
					}
					x, err := dtype.FromSlice([]float32{0.6, -1.1, 3, 4.1}, 2, 2)
					if err != nil {
						t.Fatal(err)
					}
					plain, err := g.Eval(t.Context(), nn.Feed{"x": x}, "loss")
					if err != nil {
						t.Fatal(err)
					}
					got, err := g.Grad(t.Context(), nn.Feed{"x": x}, "loss", "x", "w")
					if err != nil {
						t.Fatal(err)
					}
					numbers := func(v any) []float64 {
						d, err := dtype.Float64s(v.(*tensor.Dense))
						if err != nil {
							t.Fatal(err)
						}
						return d
					}
					if a, b := numbers(plain["loss"])[0], numbers(got["loss"])[0]; a != b {
						t.Errorf("the loss is %v, with gradients %v", a, b)
					}
					round := func(v []float64) []float64 {
						out := make([]float64, len(v))
						for i := range v {
							s := float64(scales[i%2%len(scales)])
							out[i] = min(max(math.RoundToEven(v[i]/s), -128), 127) * s
						}
						return out
					}
					a, b := round(numbers(x)), round(numbers(w.Param().Data()))
					cut := 0.0
					want := map[string][]float64{
						"x": {b[0] + b[1], b[2] + b[3], b[0] + b[1], b[2] + b[3]},
						"w": {a[0] + a[2], a[0] + a[2], (a[1] + a[3]) * cut, a[1] + a[3]},
					}
					for name, list := range want {
						for i, d := range numbers(got[name]) {
							if math.Abs(d-list[i]) > 1e-5 {
								t.Errorf("gradient by %s is %v, want %v", name, numbers(got[name]), list)
								break
							}
						}
					}
				})
			}
		}
	}
}

// TestQuantizedGradientShared has integers that two nodes dequantize and that are an output themselves: gradients pass
// straight through both nodes.
func TestQuantizedGradientShared(t *testing.T) {
	g := nn.New("g")
	if err := g.Edit(func(e *nn.Edit) {
		scale, zero := e.Const("scale", dtype.Scalar(float32(0.5))), e.Const("zero", dtype.Scalar(int8(0)))
		integers := e.Node(std.QuantizeLinearConfig{}, e.Param("w", initial.Ones{}, 3), scale, zero).Out(0)
		back := func() *nn.Value { return e.Node(std.DequantizeLinearConfig{}, integers, scale, zero).Out(0) }
		x := e.Input("x", "float32[3]")
		y := e.Node(op.Plain("Add"), e.Node(op.Plain("Mul"), x, back()).Out(0), back()).Out(0)
		e.Output("integers", integers)
		e.Output("loss", e.Node(std.ReduceSumConfig{KeepDims: new(bool)}, y).Out(0))
	}); err != nil {
		t.Fatal(err)
	}
	x, err := dtype.FromSlice([]float32{3, -1, 0}, 3)
	if err != nil {
		t.Fatal(err)
	}
	got, err := g.Grad(t.Context(), nn.Feed{"x": x}, "loss", "w")
	if err != nil {
		t.Fatal(err)
	}
	if d, err := dtype.Float64s(got["w"].(*tensor.Dense)); err != nil || !slices.Equal(d, []float64{4, 0, 1}) {
		t.Errorf("the gradient is %v, %v", d, err)
	}
}

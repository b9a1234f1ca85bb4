package nn_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/std"
	"gorgonia.org/tensor"
)

// TestDynamicQuantizationTrains: gradients pass straight through DynamicQuantizeLinear into MatMulInteger, ConvInteger and
// DequantizeLinear, as if nothing were rounded, and the result is the one without gradients up to rounding of floats.
func TestDynamicQuantizationTrains(t *testing.T) {
	for _, kind := range []string{"MatMulInteger", "ConvInteger", "DequantizeLinear"} {
		for _, zero := range []bool{false, true} {
			t.Run(fmt.Sprint(kind, zero), func(t *testing.T) {
				g, wz := nn.New("g"), 0
				if zero {
					wz = 3
				}
				weights := []int{5, -7, 100, 2, -128, 9}
				shape := []int{3, 2}
				input := "float32[2,3]"
				if kind == "ConvInteger" {
					shape, input = []int{2, 3, 1, 1}, "float32[1,3,2,2]"
				}
				err := g.Edit(func(e *nn.Edit) {
					ints := func(name string, v []int, shape ...int) *nn.Value {
						d, err := dtype.FromInts(dtype.Int8, v, shape...)
						if err != nil {
							t.Fatal(err)
						}
						return e.Const(name, d)
					}
					q := e.NodeN(op.Plain("DynamicQuantizeLinear"), 3, e.Input("x", input))
					var y *nn.Value
					if kind == "DequantizeLinear" {
						y = e.Node(std.DequantizeLinearConfig{}, q.Out(0), q.Out(1), q.Out(2)).Out(0)
					} else {
						var product op.Config = op.Plain("MatMulInteger")
						if kind == "ConvInteger" {
							product = std.ConvIntegerConfig{}
						}
						in := []*nn.Value{q.Out(0), ints("w", weights, shape...), q.Out(2)}
						if zero {
							in = append(in, ints("wz", []int{wz}))
						}
						y = e.Node(std.CastConfig{To: dtype.Float32}, e.Node(product, in...).Out(0)).Out(0)
						scale := e.Const("ws", dtype.Scalar(float32(0.02)))
						y = e.Node(op.Plain("Mul"), y, e.Node(op.Plain("Mul"), q.Out(1), scale).Out(0)).Out(0)
					}
					e.Output("loss", e.Node(std.ReduceSumConfig{KeepDims: new(bool)}, y).Out(0))
				})
				if err != nil {
					t.Fatal(err)
				}
				in, err := g.Value("x")
				if err != nil {
					t.Fatal(err)
				}
				x := dtype.New(dtype.Float32, in.Type().Sizes()...)
				for i := range dtype.Slice[float32](x) {
					dtype.Slice[float32](x)[i] = float32(math.Sin(float64(3*i + 1)))
				}
				plain, err := g.Eval(t.Context(), nn.Feed{"x": x}, "loss")
				if err != nil {
					t.Fatal(err)
				}
				got, err := g.Grad(t.Context(), nn.Feed{"x": x}, "loss", "x")
				if err != nil {
					t.Fatal(err)
				}
				number := func(v any) float64 { return float64(dtype.Slice[float32](v.(*tensor.Dense))[0]) }
				if a, b := number(plain["loss"]), number(got["loss"]); math.Abs(a-b) > 1e-5*math.Abs(a) {
					t.Errorf("the loss is %v, with gradients %v", a, b)
				}
				for i, d := range dtype.Slice[float32](got["x"].(*tensor.Dense)) {
					want := 1.0
					switch kind {
					case "MatMulInteger":
						k := i % 3
						want = 0.02 * float64(weights[2*k]+weights[2*k+1]-2*wz)
					case "ConvInteger":
						k := i / 4
						want = 0.02 * float64(weights[k]+weights[3+k]-2*wz)
					}
					if math.Abs(float64(d)-want) > 1e-5 {
						t.Errorf("gradient %d is %v, want %v", i, d, want)
					}
				}
			})
		}
	}
}

// TestDynamicQuantizationElsewhere checks that integers that are also read otherwise have no gradient,
// and that requesting one is an error.
func TestDynamicQuantizationElsewhere(t *testing.T) {
	g := nn.New("g")
	err := g.Edit(func(e *nn.Edit) {
		q := e.NodeN(op.Plain("DynamicQuantizeLinear"), 3, e.Input("x", "float32[2]"))
		y := e.Node(op.Plain("Mul"), e.Node(std.CastConfig{To: dtype.Float32}, q.Out(0)).Out(0), q.Out(1))
		e.Output("loss", e.Node(std.ReduceSumConfig{KeepDims: new(bool)}, y.Out(0)).Out(0))
	})
	if err != nil {
		t.Fatal(err)
	}
	_, err = g.Grad(t.Context(), nn.Feed{"x": dtype.New(dtype.Float32, 2)}, "loss", "x")
	if err == nil || !strings.Contains(err.Error(), "has no gradient (it gives integers: freeze what comes before it") {
		t.Errorf("got %v", err)
	}
}

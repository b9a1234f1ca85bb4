package epilogue_test

import (
	"math"
	"strings"
	"testing"

	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/epilogue"
	"gorgonia.org/tensor"
)

func TestFunction(t *testing.T) {
	sigmoid := func(x float64) float64 { return 1 / (1 + math.Exp(-x)) }
	within := func(x, lo, hi float64) float64 { return min(max(x, lo), hi) }
	below := func(x, y float64) float64 { // y where x is negative
		if x < 0 {
			return y
		}
		return x
	}
	for name, f := range map[string]func(x float64) float64{
		"Relu":        func(x float64) float64 { return max(0, x) },
		"LeakyRelu":   func(x float64) float64 { return below(x, 0.5*x) },
		"Elu":         func(x float64) float64 { return below(x, 0.5*math.Expm1(x)) },
		"Selu":        func(x float64) float64 { return 0.7 * below(x, 0.5*math.Expm1(x)) },
		"Clip":        func(x float64) float64 { return within(x, 0.5, 0.7) },
		"Tanh":        math.Tanh,
		"Sigmoid":     sigmoid,
		"HardSigmoid": func(x float64) float64 { return within(0.5*x+0.7, 0, 1) },
		"HardSwish":   func(x float64) float64 { return x * within(x/6+0.5, 0, 1) },
		"Silu":        func(x float64) float64 { return x * sigmoid(x) },
		"Softplus":    func(x float64) float64 { return math.Log1p(math.Exp(x)) },
		"Softsign":    func(x float64) float64 { return x / (1 + math.Abs(x)) },
		"Gelu":        func(x float64) float64 { return x * (1 + math.Erf(x/math.Sqrt2)) / 2 },
		"GeluTanh": func(x float64) float64 {
			return x * (1 + math.Tanh(math.Sqrt(2/math.Pi)*(x+0.044715*x*x*x))) / 2
		},
	} {
		of, err := epilogue.Function(name, 0.5, 0.7)
		if err != nil {
			t.Error(err)
			continue
		}
		step := &epilogue.Step{Kind: epilogue.Activate, Slots: []int{0}, DType: dtype.Float64, Func: of}
		list, ok := epilogue.List{}.With(step, dtype.Float64, 5, op.Meeting{FirstInputs: 2, SecondInputs: 1})
		if !ok {
			t.Errorf("%s cannot follow", name)
			continue
		}
		x := []float64{-4, -1.3, 0, 0.6, 3.5}
		y := tensor.New(tensor.WithShape(1, 5), tensor.WithBacking(append([]float64(nil), x...)))
		list.Apply(nil, make([]*tensor.Dense, 2), y, 5, 1)
		for i, got := range dtype.Slice[float64](y) {
			if want := f(x[i]); math.Abs(got-want) > 1e-12 {
				t.Errorf("%s(%v) = %v, want %v", name, x[i], got, want)
			}
		}
	}
	if _, err := epilogue.Function("relu", 0, 0); err == nil || !strings.Contains(err.Error(), `there is no function "relu": want one of Clip, Elu`) {
		t.Error(err)
	}
}

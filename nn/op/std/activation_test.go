package std_test

import (
	"math"
	"testing"

	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/optest"
	"github.com/graft-ml/graft/nn/op/std"
)

// ptr returns a pointer to a value, for attributes whose zero is not the default.
func ptr[T any](v T) *T { return &v }

func TestActivations(t *testing.T) {
	cases := map[string]op.Config{
		"LeakyRelu": op.Plain("LeakyRelu"), "LeakyRelu alpha": std.LeakyReluConfig{Alpha: ptr(float32(0.3))},
		"Elu": op.Plain("Elu"), "Elu alpha": std.EluConfig{Alpha: ptr(float32(2.5))},
		"Celu": op.Plain("Celu"), "Celu alpha": std.CeluConfig{Alpha: ptr(float32(2.5))},
		"Selu": op.Plain("Selu"), "Selu both": std.SeluConfig{Alpha: ptr(float32(2)), Gamma: ptr(float32(3))},
		"ThresholdedRelu": op.Plain("ThresholdedRelu"), "ThresholdedRelu alpha": std.ThresholdedReluConfig{Alpha: ptr(float32(0.4))},
		"HardSigmoid": op.Plain("HardSigmoid"), "HardSigmoid both": std.HardSigmoidConfig{Alpha: ptr(float32(0.5)), Beta: ptr(float32(0.6))},
		"Shrink": op.Plain("Shrink"), "Shrink both": std.ShrinkConfig{Bias: 0.25, Lambd: ptr(float32(1.0))},
		"Gelu": op.Plain("Gelu"), "Gelu tanh": std.GeluConfig{Approximate: "tanh"},
		"Swish": op.Plain("Swish"), "Swish alpha": std.SwishConfig{Alpha: ptr(float32(1.7))},
	}
	for name, c := range cases {
		optest.Run(t, optest.Case{Name: name, Config: c, In: []dtype.Value{optest.Spread(4, -2.03, 2.01, 3, 7)}, NoLow: noLow(name)},
			optest.Case{Name: name + " long", Config: c, In: []dtype.Value{optest.Spread(5, -2.03, 2.01, 2100)}, NoLow: noLow(name), GradTol: 1e-5})
	}
}

func noLow(name string) string {
	if name[0] == 'T' || name[:2] == "Sh" {
		return "jumps"
	}
	return ""
}

func TestGeluRefusesOtherApproximations(t *testing.T) {
	optest.Fails(t, optest.Case{Config: std.GeluConfig{Approximate: "erf"}, In: []dtype.Value{optest.Rand(1, 2)}, Refusal: "approximate is \"erf\", want none or tanh"})
}

func TestPRelu(t *testing.T) {
	optest.Run(t,
		optest.Case{Name: "channels", Config: op.Plain("PRelu"), In: []dtype.Value{optest.Rand(1, 2, 3, 4), optest.Rand(2, 3, 1)}},
		optest.Case{Name: "same", Config: op.Plain("PRelu"), In: []dtype.Value{optest.Rand(1, 2, 3), optest.Rand(2, 2, 3)}},
		optest.Case{Name: "last axis", Config: op.Plain("PRelu"), In: []dtype.Value{optest.Rand(1, 2, 3), optest.Rand(2, 3)}},
		optest.Case{Name: "scalar", Config: op.Plain("PRelu"), In: []dtype.Value{optest.Rand(1, 2, 3), optest.Rand(2, 1)}},
		optest.Case{Name: "before 7", Config: op.Plain("PRelu"), Version: 6, In: []dtype.Value{optest.Rand(1, 2, 3, 4), optest.Rand(2, 3)}},
		optest.Case{Name: "integers", Config: op.Plain("PRelu"), In: []dtype.Value{optest.Tensor([]int32{-2, 3}, 2), optest.Tensor([]int32{5}, 1)},
			Want: []dtype.Value{optest.Tensor([]int32{-10, 3}, 2)}},
	)
	optest.Fails(t, optest.Case{Config: op.Plain("PRelu"), In: []dtype.Value{optest.Rand(1, 3), optest.Rand(2, 2, 3)}, Refusal: "input slope: want a slope that broadcasts to float32[3], got float32[2,3]"})
}

func TestIsInf(t *testing.T) {
	inf := float32(math.Inf(1))
	x := optest.Floats([]int{3}, 1, inf, -inf)
	bools := func(v ...bool) []dtype.Value { return []dtype.Value{optest.Tensor(v, len(v))} }
	optest.Run(t,
		optest.Case{Name: "both", Config: op.Plain("IsInf"), In: []dtype.Value{x}, Want: bools(false, true, true)},
		optest.Case{Name: "positive", Config: std.IsInfConfig{DetectNegative: ptr(false)}, In: []dtype.Value{x}, Want: bools(false, true, false)},
		optest.Case{Name: "negative", Config: std.IsInfConfig{DetectPositive: ptr(false)}, In: []dtype.Value{x}, Want: bools(false, false, true)},
		optest.Case{Name: "NaN", Config: op.Plain("IsNaN"), In: []dtype.Value{optest.Floats([]int{2}, float32(math.NaN()), 0)}, Want: bools(true, false)},
	)
}

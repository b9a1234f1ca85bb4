package std_test

import (
	"testing"

	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op/optest"
	"github.com/graft-ml/graft/nn/op/std"
)

// A beta whose last dimension is 1 is one rate for all heads: what comes out is what the same rate for each of them gives.
func TestLinearAttentionSharedBeta(t *testing.T) {
	for _, rule := range []string{"delta", "gated_delta"} {
		cfg := std.LinearAttentionConfig{QHeads: 4, KVHeads: 2, Rule: rule}
		in := []dtype.Value{optest.Rand(1, 2, 3, 8), optest.Rand(2, 2, 3, 4), optest.Rand(3, 2, 3, 6), nil, nil, optest.Spread(5, 0.1, 0.9, 2, 3, 1)}
		if rule == "gated_delta" {
			in[4] = optest.Spread(4, -1, 0, 2, 3, 2)
		}
		var each []float32
		for _, v := range dtype.Slice[float32](optest.Spread(5, 0.1, 0.9, 2, 3, 1)) {
			each = append(each, v, v)
		}
		wide := append([]dtype.Value{}, in...)
		wide[5] = optest.Floats([]int{2, 3, 2}, each...)
		want, err := optest.Forward(optest.Case{Config: cfg, In: wide, Outputs: 2})
		if err != nil {
			t.Fatal(err)
		}
		optest.Run(t, optest.Case{Name: rule, Config: cfg, In: in, Outputs: 2, Want: want})
	}
	optest.Fails(t, optest.Case{Name: "beta of three heads", Config: std.LinearAttentionConfig{QHeads: 4, KVHeads: 2, Rule: "delta"},
		In:      []dtype.Value{optest.Rand(1, 2, 3, 8), optest.Rand(2, 2, 3, 4), optest.Rand(3, 2, 3, 6), nil, nil, optest.Rand(5, 2, 3, 3)},
		Refusal: "input beta: want float32[2,3,2], got float32[2,3,3]"})
}

// TestNoSteps: without time steps the state stays what it was.
func TestNoSteps(t *testing.T) {
	none := func(shape ...int) dtype.Value { return dtype.New(dtype.Float32, shape...) }
	state := optest.Rand(4, 2, 2, 2, 3)
	window := optest.Rand(5, 2, 3, 1)
	optest.Run(t,
		optest.Case{Name: "attention", Config: std.LinearAttentionConfig{QHeads: 4, KVHeads: 2, Rule: "delta"}, Outputs: 2,
			In: []dtype.Value{none(2, 0, 8), none(2, 0, 4), none(2, 0, 6), state, nil, none(2, 0, 1)}, Want: []dtype.Value{none(2, 0, 12), state}},
		optest.Case{Name: "convolution", Config: std.CausalConvWithStateConfig{Activation: "silu"}, Outputs: 2,
			NoGrad: "Gorgonia does not add empty tensors; TestSweepTorch has it",
			In:     []dtype.Value{none(2, 3, 0), optest.Rand(6, 3, 1, 2), optest.Rand(7, 3), window}, Want: []dtype.Value{none(2, 3, 0), window}})
}

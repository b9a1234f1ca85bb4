package std_test

import (
	"testing"

	"github.com/graft-ml/graft/nn/op/optest"
	"github.com/graft-ml/graft/nn/op/std"
)

func TestLSTM(t *testing.T) {
	full, both, first := recurrentInputs(4, 1, false), recurrentInputs(4, 2, false), recurrentInputs(4, 2, true)
	optest.Run(t,
		optest.Case{Name: "plain", Config: std.LSTMConfig{HiddenSize: 3}, In: full[:3], Outputs: 3, Resize: resizeHidden},
		optest.Case{Name: "all inputs", Config: std.LSTMConfig{}, In: full, Outputs: 3},
		optest.Case{Name: "reverse", Config: std.LSTMConfig{Direction: "reverse", InputForget: true}, In: full, Outputs: 3},
		optest.Case{Name: "bidirectional", Config: std.LSTMConfig{Direction: "bidirectional"}, In: both, Outputs: 3},
		optest.Case{Name: "batch first", Config: std.LSTMConfig{Direction: "bidirectional", Layout: 1}, In: first, Outputs: 3},
		optest.Case{Name: "last state only", Config: std.LSTMConfig{}, In: full[:4], Outputs: 2, Skip: []int{0}, Version: 7},
		optest.Case{Name: "clip", Config: std.LSTMConfig{Clip: 0.7}, In: full[:4], Outputs: 3, NoLow: "values at the clip"},
		optest.Case{Name: "activations", Config: std.LSTMConfig{Activations: []string{"HardSigmoid", "ScaledTanh", "Softsign"},
			ActivationAlpha: []float32{0.3, 1.5}, ActivationBeta: []float32{0.4, 0.7}}, In: full, Outputs: 3},
		optest.Case{Name: "old", Config: std.LSTMConfig{OutputSequence: true}, In: full[:3], Version: 1},
	)
	for _, c := range []optest.Case{
		{Name: "direction", Config: std.LSTMConfig{Direction: "up"}, In: full[:3], Refusal: "direction \"up\" is unknown"},
		{Name: "hidden_size", Config: std.LSTMConfig{HiddenSize: 4}, In: full[:3], Refusal: "hidden_size is 4, R has 3"},
		{Name: "directions", Config: std.LSTMConfig{Direction: "bidirectional"}, In: full[:3], Refusal: "input W: want float32[2,12,2], got float32[1,12,2]"},
		{Name: "activation", Config: std.LSTMConfig{Activations: []string{"Sine", "Tanh", "Tanh"}}, In: full[:3], Refusal: "activation \"Sine\" is unknown"},
		{Name: "activations", Config: std.LSTMConfig{Activations: []string{"Tanh"}}, In: full[:3], Refusal: "activations [Tanh]: want 3 names"},
		{Name: "layout", Config: std.LSTMConfig{Layout: 2}, In: full[:3], Refusal: "layout is 2, want 0 or 1"},
		{Name: "length", Config: std.LSTMConfig{}, In: append(full[:4:4], optest.Tensor([]int32{5, 1, 1}, 3)), Refusal: "sequence length 5 is outside of [0, 4]"},
	} {
		optest.Fails(t, c)
	}
}

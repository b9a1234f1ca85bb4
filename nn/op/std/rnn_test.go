package std_test

import (
	"testing"

	"github.com/graft-ml/graft/nn/op/optest"
	"github.com/graft-ml/graft/nn/op/std"
)

func TestRNN(t *testing.T) {
	full, both, first := recurrentInputs(1, 1, false), recurrentInputs(1, 2, false), recurrentInputs(1, 2, true)
	optest.Run(t,
		optest.Case{Name: "plain", Config: std.RNNConfig{}, In: full[:3], Outputs: 2},
		optest.Case{Name: "all inputs", Config: std.RNNConfig{Direction: "reverse"}, In: full, Outputs: 2},
		optest.Case{Name: "bidirectional", Config: std.RNNConfig{Direction: "bidirectional", Activations: []string{"Tanh", "LeakyRelu"},
			ActivationAlpha: []float32{0.2}}, In: both, Outputs: 2},
		optest.Case{Name: "batch first", Config: std.RNNConfig{Direction: "bidirectional", Layout: 1, Clip: 2}, In: first, Outputs: 2},
		optest.Case{Name: "softplus", Config: std.RNNConfig{Activations: []string{"Softplus"}, HiddenSize: 3}, In: full, Outputs: 2, NoCut: "softplus(0) is not 0"},
		optest.Case{Name: "affine", Config: std.RNNConfig{Activations: []string{"Affine"}, ActivationAlpha: []float32{0.5}, ActivationBeta: []float32{0.1}},
			In: full, Outputs: 2, NoCut: "f(0) is not 0"},
		optest.Case{Name: "old", Config: std.RNNConfig{OutputSequence: true}, In: full[:3], Version: 1},
	)
}

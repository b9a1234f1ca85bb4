package op_test

import (
	"testing"

	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/optest"
)

// recurrentInputs are X, W, R, B, lens, h0 and, for LSTM, c0, P: 4 steps, batch 3, 2 features, 3 units.
func recurrentInputs(gates, dirs int, batchFirst bool) []dtype.Value {
	const seq, batch, input, hidden = 4, 3, 2, 3
	x, state := []int{seq, batch, input}, []int{dirs, batch, hidden}
	if batchFirst {
		x, state = []int{batch, seq, input}, []int{batch, dirs, hidden}
	}
	in := values(optest.Rand(1, x...), optest.Rand(2, dirs, gates*hidden, input), optest.Rand(3, dirs, gates*hidden, hidden),
		optest.Rand(4, dirs, 2*gates*hidden), optest.Tensor([]int32{4, 2, 3}, batch), optest.Rand(5, state...))
	if gates == 4 {
		in = append(in, optest.Rand(6, state...), optest.Rand(7, dirs, 3*hidden))
	}
	return in
}

// resizeHidden follows a cut of hidden units.
func resizeHidden(c *optest.Case, cut map[op.AxisRef][]int) {
	n := len(cut[op.InAxis(2, 2)])
	switch cfg := c.Config.(type) {
	case op.LSTMConfig:
		if cfg.HiddenSize > 0 {
			cfg.HiddenSize -= n
		}
		c.Config = cfg
	}
}

func TestLSTM(t *testing.T) {
	full, both, first := recurrentInputs(4, 1, false), recurrentInputs(4, 2, false), recurrentInputs(4, 2, true)
	optest.Run(t,
		optest.Case{Name: "plain", Config: op.LSTMConfig{HiddenSize: 3}, In: full[:3], Outputs: 3, Resize: resizeHidden},
		optest.Case{Name: "all inputs", Config: op.LSTMConfig{}, In: full, Outputs: 3},
		optest.Case{Name: "reverse", Config: op.LSTMConfig{Direction: "reverse", InputForget: true}, In: full, Outputs: 3},
		optest.Case{Name: "bidirectional", Config: op.LSTMConfig{Direction: "bidirectional"}, In: both, Outputs: 3},
		optest.Case{Name: "batch first", Config: op.LSTMConfig{Direction: "bidirectional", Layout: 1}, In: first, Outputs: 3},
		optest.Case{Name: "last state only", Config: op.LSTMConfig{}, In: full[:4], Outputs: 2, Skip: []int{0}, Version: 7},
		optest.Case{Name: "clip", Config: op.LSTMConfig{Clip: 0.7}, In: full[:4], Outputs: 3, NoLow: "values at the clip"},
		optest.Case{Name: "activations", Config: op.LSTMConfig{Activations: []string{"HardSigmoid", "ScaledTanh", "Softsign"},
			ActivationAlpha: []float32{0.3, 1.5}, ActivationBeta: []float32{0.4, 0.7}}, In: full, Outputs: 3},
		optest.Case{Name: "old", Config: op.LSTMConfig{OutputSequence: true}, In: full[:3], Version: 1},
	)
	for _, c := range []optest.Case{
		{Name: "direction", Config: op.LSTMConfig{Direction: "up"}, In: full[:3]},
		{Name: "hidden_size", Config: op.LSTMConfig{HiddenSize: 4}, In: full[:3]},
		{Name: "directions", Config: op.LSTMConfig{Direction: "bidirectional"}, In: full[:3]},
		{Name: "activation", Config: op.LSTMConfig{Activations: []string{"Sine", "Tanh", "Tanh"}}, In: full[:3]},
		{Name: "activations", Config: op.LSTMConfig{Activations: []string{"Tanh"}}, In: full[:3]},
		{Name: "layout", Config: op.LSTMConfig{Layout: 2}, In: full[:3]},
		{Name: "length", Config: op.LSTMConfig{}, In: append(full[:4:4], optest.Tensor([]int32{5, 1, 1}, 3))},
	} {
		optest.Fails(t, c)
	}
}

func TestGRU(t *testing.T) {
	full, both, first := recurrentInputs(3, 1, false), recurrentInputs(3, 2, false), recurrentInputs(3, 2, true)
	optest.Run(t,
		optest.Case{Name: "plain", Config: op.GRUConfig{}, In: full[:3], Outputs: 2},
		optest.Case{Name: "all inputs", Config: op.GRUConfig{}, In: full, Outputs: 2},
		optest.Case{Name: "linear before reset", Config: op.GRUConfig{LinearBeforeReset: true, Direction: "reverse"}, In: full, Outputs: 2},
		optest.Case{Name: "bidirectional", Config: op.GRUConfig{Direction: "bidirectional"}, In: both, Outputs: 2},
		optest.Case{Name: "batch first", Config: op.GRUConfig{Direction: "bidirectional", Layout: 1, LinearBeforeReset: true}, In: first, Outputs: 2},
		optest.Case{Name: "clip", Config: op.GRUConfig{Clip: 0.7}, In: full[:4], Outputs: 2, NoLow: "values at the clip"},
		optest.Case{Name: "activations", Config: op.GRUConfig{Activations: []string{"Affine", "Elu"}, ActivationAlpha: []float32{0.3, 1.5},
			ActivationBeta: []float32{0.4}, HiddenSize: 3}, In: full, Outputs: 2, NoCut: "hidden_size"},
		optest.Case{Name: "old", Config: op.GRUConfig{OutputSequence: true}, In: full[:3], Version: 1},
	)
}

func TestRNN(t *testing.T) {
	full, both, first := recurrentInputs(1, 1, false), recurrentInputs(1, 2, false), recurrentInputs(1, 2, true)
	optest.Run(t,
		optest.Case{Name: "plain", Config: op.RNNConfig{}, In: full[:3], Outputs: 2},
		optest.Case{Name: "all inputs", Config: op.RNNConfig{Direction: "reverse"}, In: full, Outputs: 2},
		optest.Case{Name: "bidirectional", Config: op.RNNConfig{Direction: "bidirectional", Activations: []string{"Tanh", "LeakyRelu"},
			ActivationAlpha: []float32{0.2}}, In: both, Outputs: 2},
		optest.Case{Name: "batch first", Config: op.RNNConfig{Direction: "bidirectional", Layout: 1, Clip: 2}, In: first, Outputs: 2},
		optest.Case{Name: "softplus", Config: op.RNNConfig{Activations: []string{"Softplus"}, HiddenSize: 3}, In: full, Outputs: 2, NoCut: "softplus(0) is not 0"},
		optest.Case{Name: "affine", Config: op.RNNConfig{Activations: []string{"Affine"}, ActivationAlpha: []float32{0.5}, ActivationBeta: []float32{0.1}},
			In: full, Outputs: 2, NoCut: "f(0) is not 0"},
		optest.Case{Name: "old", Config: op.RNNConfig{OutputSequence: true}, In: full[:3], Version: 1},
	)
}

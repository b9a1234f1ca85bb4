package std_test

import (
	"testing"

	"github.com/graft-ml/graft/nn/op/optest"
	"github.com/graft-ml/graft/nn/op/std"
)

func TestGRU(t *testing.T) {
	full, both, first := recurrentInputs(3, 1, false), recurrentInputs(3, 2, false), recurrentInputs(3, 2, true)
	optest.Run(t,
		optest.Case{Name: "plain", Config: std.GRUConfig{}, In: full[:3], Outputs: 2},
		optest.Case{Name: "all inputs", Config: std.GRUConfig{}, In: full, Outputs: 2},
		optest.Case{Name: "linear before reset", Config: std.GRUConfig{LinearBeforeReset: true, Direction: "reverse"}, In: full, Outputs: 2},
		optest.Case{Name: "bidirectional", Config: std.GRUConfig{Direction: "bidirectional"}, In: both, Outputs: 2},
		optest.Case{Name: "batch first", Config: std.GRUConfig{Direction: "bidirectional", Layout: 1, LinearBeforeReset: true}, In: first, Outputs: 2},
		optest.Case{Name: "clip", Config: std.GRUConfig{Clip: 0.7}, In: full[:4], Outputs: 2, NoLow: "values at the clip"},
		optest.Case{Name: "activations", Config: std.GRUConfig{Activations: []string{"Affine", "Elu"}, ActivationAlpha: []float32{0.3, 1.5},
			ActivationBeta: []float32{0.4}, HiddenSize: 3}, In: full, Outputs: 2, NoCut: "hidden_size"},
		optest.Case{Name: "old", Config: std.GRUConfig{OutputSequence: true}, In: full[:3], Version: 1},
	)
}

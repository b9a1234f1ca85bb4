package std

import "github.com/graft-ml/graft/nn/op"

// RNNConfig has the attributes of RNN.
type RNNConfig struct {
	ActivationAlpha []float32 `onnx:"activation_alpha"`              // alpha of the activations that take one, in order; nil: their defaults
	ActivationBeta  []float32 `onnx:"activation_beta"`               // beta, likewise
	Activations     []string  `onnx:"activations,default=Tanh|Tanh"` // one for each direction
	Clip            float32   `onnx:"clip"`                          // bound on the magnitude of the inputs of the activations; 0: none
	Direction       string    `onnx:"direction,default=forward"`     // forward, reverse or bidirectional
	HiddenSize      int       `onnx:"hidden_size"`                   // features of the hidden state; 0: those of R
	Layout          int       `onnx:"layout,since=14"`               // 0: X is [seq, batch, features]; 1: [batch, seq, features]
	OutputSequence  bool      `onnx:"output_sequence,until=6"`       // of no effect
}

// Operator makes RNNConfig a Config.
func (RNNConfig) Operator() op.Name { return op.Name{Name: "RNN"} }

func rnn() *op.Op {
	return &op.Op{
		Name: "RNN", Since: []int{1, 7, 14, 22},
		Doc: "Simple recurrent layer over a sequence, in one direction or both.",
		In:  "X T, W T weight, R T weight, B? T weight, sequence_lens? int32, initial_h? T",
		Out: "Y? T, Y_h? T", Where: op.Where{"T": op.Floats()}, Attrs: RNNConfig{},
		Infer: inferRecurrent, Expose: spelled(exposeRecurrent), Hidden: recurrentHidden, Kernel: recurrentKernel, Grad: recurrentGradNodes,
		Couple: coupleRecurrent, Cost: recurrentCost,
		Traits: resizing(recurrentTraits(), 0, func(r *op.Resizing) error {
			cfg := r.Call.Config.(RNNConfig)
			cfg.HiddenSize = hidden(r, cfg.HiddenSize)
			r.Config = cfg
			return nil
		}),
	}
}

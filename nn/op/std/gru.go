package std

import "github.com/graft-ml/graft/nn/op"

// GRUConfig has the attributes of GRU.
type GRUConfig struct {
	ActivationAlpha   []float32 `onnx:"activation_alpha"`            // alpha of the activations that take one, in order; nil: their defaults
	ActivationBeta    []float32 `onnx:"activation_beta"`             // beta, likewise
	Activations       []string  `onnx:"activations"`                 // f and g of each direction; nil: Sigmoid, Tanh
	Clip              float32   `onnx:"clip"`                        // bound on the magnitude of the inputs of the activations; 0: none
	Direction         string    `onnx:"direction,default=forward"`   // forward, reverse or bidirectional
	HiddenSize        int       `onnx:"hidden_size"`                 // features of the hidden state; 0: those of R
	Layout            int       `onnx:"layout,since=14"`             // 0: X is [seq, batch, features]; 1: [batch, seq, features]
	LinearBeforeReset bool      `onnx:"linear_before_reset,since=3"` // the reset gate multiplies H·Rᵀ + Rb instead of H
	OutputSequence    bool      `onnx:"output_sequence,until=6"`     // of no effect
}

// Operator makes GRUConfig a Config.
func (GRUConfig) Operator() op.Name { return op.Name{Name: "GRU"} }

func gru() *op.Op {
	return &op.Op{
		Name: "GRU", Since: []int{1, 3, 7, 14, 22},
		Doc: "Gated recurrent unit over a sequence, in one direction or both.",
		In:  "X T, W T weight, R T weight, B? T weight, sequence_lens? int32, initial_h? T",
		Out: "Y? T, Y_h? T", Where: op.Where{"T": op.Floats()}, Attrs: GRUConfig{},
		Infer: inferRecurrent, Expose: spelled(exposeRecurrent), Hidden: recurrentHidden, Kernel: recurrentKernel, Grad: recurrentGradNodes,
		Couple: coupleRecurrent, Cost: recurrentCost,
		Traits: resizing(recurrentTraits(), 0, func(r *op.Resizing) error {
			cfg := r.Call.Config.(GRUConfig)
			cfg.HiddenSize = hidden(r, cfg.HiddenSize)
			r.Config = cfg
			return nil
		}),
	}
}

package std

import "github.com/graft-ml/graft/nn/op"

// LSTMConfig has the attributes of LSTM.
type LSTMConfig struct {
	ActivationAlpha []float32 `onnx:"activation_alpha"`          // alpha of the activations that take one, in order; nil: their defaults
	ActivationBeta  []float32 `onnx:"activation_beta"`           // beta, likewise
	Activations     []string  `onnx:"activations"`               // f, g and h of each direction; nil: Sigmoid, Tanh, Tanh
	Clip            float32   `onnx:"clip"`                      // bound on the magnitude of the inputs of the activations; 0: none
	Direction       string    `onnx:"direction,default=forward"` // forward, reverse or bidirectional
	HiddenSize      int       `onnx:"hidden_size"`               // features of the hidden state; 0: those of R
	InputForget     bool      `onnx:"input_forget"`              // the forget gate is 1 − the input gate
	Layout          int       `onnx:"layout,since=14"`           // 0: X is [seq, batch, features]; 1: [batch, seq, features]
	OutputSequence  bool      `onnx:"output_sequence,until=6"`   // of no effect
}

// Operator makes LSTMConfig a Config.
func (LSTMConfig) Operator() op.Name { return op.Name{Name: "LSTM"} }

func lstm() *op.Op {
	return &op.Op{
		Name: "LSTM", Since: []int{1, 7, 14, 22},
		Doc: "Long short-term memory over a sequence, in one direction or both.",
		In:  "X T, W T weight, R T weight, B? T weight, sequence_lens? int32, initial_h? T, initial_c? T, P? T weight",
		Out: "Y? T, Y_h? T, Y_c? T", Where: op.Where{"T": op.Floats()}, Attrs: LSTMConfig{},
		Infer: inferRecurrent, Expose: spelled(exposeRecurrent), Hidden: recurrentHidden, Kernel: recurrentKernel, Grad: recurrentGradNodes,
		Couple: coupleRecurrent, Cost: recurrentCost,
		Traits: resizing(recurrentTraits(), 0, func(r *op.Resizing) error {
			cfg := r.Call.Config.(LSTMConfig)
			cfg.HiddenSize = hidden(r, cfg.HiddenSize)
			r.Config = cfg
			return nil
		}),
	}
}

// cellOf resolves the attributes of LSTM, GRU and RNN.
func cellOf(c *op.Call) (cell, error) {
	switch a := c.Config.(type) {
	case LSTMConfig:
		return a.cell(c)
	case DynamicLSTMConfig:
		r, err := LSTMConfig(a).cell(c)
		r.Rounded = true
		return r, err
	case GRUConfig:
		r, err := newCell(c, "GRU", 3, 2, recurrentAttrs{a.ActivationAlpha, a.ActivationBeta, a.Activations, a.Clip, a.Direction, a.Layout})
		r.LinearBeforeReset = a.LinearBeforeReset
		return r, err
	}
	a := c.Config.(RNNConfig)
	return newCell(c, "RNN", 1, 1, recurrentAttrs{a.ActivationAlpha, a.ActivationBeta, a.Activations, a.Clip, a.Direction, a.Layout})
}

func (a LSTMConfig) cell(c *op.Call) (cell, error) {
	r, err := newCell(c, "LSTM", 4, 3, recurrentAttrs{a.ActivationAlpha, a.ActivationBeta, a.Activations, a.Clip, a.Direction, a.Layout})
	r.InputForget = a.InputForget
	return r, err
}

// hiddenAttr returns the attribute hidden_size, 0 where absent: R has it too.
func hiddenAttr(c *op.Call) int {
	switch a := c.Config.(type) {
	case LSTMConfig:
		return a.HiddenSize
	case DynamicLSTMConfig:
		return a.HiddenSize
	case GRUConfig:
		return a.HiddenSize
	case RNNConfig:
		return a.HiddenSize
	}
	return 0
}

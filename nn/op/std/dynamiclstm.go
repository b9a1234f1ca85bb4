package std

import (
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
)

// DynamicLSTMConfig computes LSTM, except that the hidden states are rounded before R multiplies them, as
// DynamicQuantizeLinear followed by DequantizeLinear round them: at each step, with the scale that the states of the batch
// need. The gradient flows straight through the rounding.
type DynamicLSTMConfig LSTMConfig

// Operator makes DynamicLSTMConfig a Config.
func (DynamicLSTMConfig) Operator() op.Name {
	return op.Name{Domain: op.Internal, Name: "DynamicLSTM"}
}

func dynamicLSTM() *op.Op {
	o := lstm()
	o.Domain, o.Name, o.Since, o.Attrs = op.Internal, "DynamicLSTM", []int{1}, DynamicLSTMConfig{}
	o.Doc = "LSTM on hidden states that are rounded as the values at hand need; the gradient passes straight through."
	o.Where = op.Where{"T": {dtype.Float32, dtype.Float64}}
	o.Decompose, o.Expose = o.Expose, nil
	o.Couple, o.Pinned, o.Traits = nil, "stands for several operators", op.Traits{StraightThrough: true}
	return o
}

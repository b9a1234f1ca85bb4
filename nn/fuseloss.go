package nn

import (
	"github.com/graft-ml/graft/nn/op/std"
)

// crossEntropyRule is the loss of logarithms of a softmax over the classes, whose gradient is the
// difference between two probabilities.
func crossEntropyRule() rule {
	return rule{"cross entropy", on("NegativeLogLikelihoodLoss", on("LogSoftmax", anything("x")).as("softmax"), anything("labels")), func(m *matching) *fused {
		loss, ok := m.root.config.(std.NegativeLogLikelihoodLossConfig)
		soft, ok2 := m.config("softmax").(std.LogSoftmaxConfig)
		if !ok || !ok2 || !m.softmaxAxis(soft.Axis, 1) {
			return nil
		}
		in := values(m.named["x"], m.named["labels"])
		if len(m.root.in) > 2 {
			in = append(in, operand{value: m.root.in[2]})
		}
		return &fused{std.SoftmaxCrossEntropyLossConfig(loss), in}
	}}
}

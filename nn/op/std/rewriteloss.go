package std

import (
	"github.com/graft-ml/graft/nn/op"
)

// crossEntropyRule returns the loss of logarithms of a softmax over the classes, whose gradient is the
// difference between two probabilities.
func crossEntropyRule() op.Rewrite {
	pattern := on("NegativeLogLikelihoodLoss", on("LogSoftmax", op.Anything("x")).As("softmax"), op.Anything("labels")).As("loss")
	return op.Rewrite{Name: "cross entropy", Pattern: pattern, Build: func(m op.Match) *op.Replacement {
		loss, ok := configOf(m, "loss").(NegativeLogLikelihoodLossConfig)
		soft, ok2 := configOf(m, "softmax").(LogSoftmaxConfig)
		if !ok || !ok2 || !softmaxAxis(m, soft.Axis, 1) {
			return nil
		}
		in := sources(m, "x", "labels")
		if weights := m.Input(m.Value("loss"), 2); weights.Present() {
			in = append(in, weights)
		}
		return &op.Replacement{Config: SoftmaxCrossEntropyLossConfig(loss), In: in}
	}}
}

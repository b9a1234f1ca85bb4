package optim

// Standard is a rule in terms of an operator of ONNX's domain ai.onnx.preview.training.
type Standard struct {
	Rule           string  // StandardMomentum, StandardAdam, StandardAdagrad
	Rate           float64 // the learning rate
	Alpha, Beta    float64 // attributes of Momentum and Adam; for Adagrad Alpha is the decay of the rate
	Epsilon, Decay float64 // Decay times the weights is added to the gradient
	Nesterov       bool    // of Momentum
}

// The rules with an operator in ONNX.
const (
	StandardMomentum = "Momentum"
	StandardAdam     = "Adam"
	StandardAdagrad  = "Adagrad"
)

// StandardRule is a Rule that may have an operator in ONNX. Its slots are those of the operator, in that order.
type StandardRule interface {
	Rule
	Standard() (s Standard, ok bool) // the settings; ok reports whether ONNX has an operator for them
}

// Standard implements [StandardRule]; ok is false without momentum.
func (r SGD) Standard() (Standard, bool) {
	r, err := r.resolve()
	if err != nil || r.Momentum == 0 || r.Nesterov && r.Dampening != 0 {
		return Standard{}, false
	}
	return Standard{Rule: StandardMomentum, Rate: r.LR, Alpha: r.Momentum, Beta: 1 - r.Dampening, Decay: r.WeightDecay, Nesterov: r.Nesterov}, true
}

// Standard implements [StandardRule]; ok is false with AMSGrad. The operator adds Eps to the square root before bias correction.
func (r Adam) Standard() (Standard, bool) {
	a, err := r.resolve()
	if err != nil || a.amsgrad || a.decay != 0 {
		return Standard{}, false
	}
	return Standard{Rule: StandardAdam, Rate: a.lr, Alpha: a.beta1, Beta: a.beta2, Epsilon: a.eps, Decay: a.l2}, true
}

// Standard implements [StandardRule].
func (r Adagrad) Standard() (Standard, bool) {
	r, err := r.resolve()
	if err != nil {
		return Standard{}, false
	}
	return Standard{Rule: StandardAdagrad, Rate: r.LR, Alpha: r.LRDecay, Epsilon: r.Eps, Decay: r.WeightDecay}, true
}

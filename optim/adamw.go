package optim

import "gorgonia.org/tensor"

// AdamW is Adam with decoupled weight decay, as torch.optim.AdamW (Loshchilov
// and Hutter, 2019): the weight shrinks by LR·WeightDecay before each update.
//
// Slots: exp_avg, exp_avg_sq and, with AMSGrad, max_exp_avg_sq.
type AdamW struct {
	LR          float64 // 1e-3
	Beta1       float64 // 0.9
	Beta2       float64 // 0.999
	Eps         float64 // 1e-8
	WeightDecay float64 // 0.01
	AMSGrad     bool    // divide by the largest second moment so far
}

func (r AdamW) resolve() (adam, error) {
	c := resolver{rule: "AdamW"}
	return adam{
		name:    "AdamW",
		lr:      c.value("LR", r.LR, 1e-3, inf),
		beta1:   c.value("Beta1", r.Beta1, 0.9, 1),
		beta2:   c.value("Beta2", r.Beta2, 0.999, 1),
		eps:     c.value("Eps", r.Eps, 1e-8, inf),
		decay:   c.value("WeightDecay", r.WeightDecay, 0.01, inf),
		amsgrad: r.AMSGrad,
	}, c.err
}

// Init implements [Rule].
func (r AdamW) Init(w *tensor.Dense) ([]Slot, error) {
	a, err := r.resolve()
	if err != nil {
		return nil, err
	}
	return a.init(w)
}

// Step implements [Rule].
func (r AdamW) Step(w, grad *tensor.Dense, s []Slot, h Hyper) error {
	a, err := r.resolve()
	if err != nil {
		return err
	}
	return a.step(w, grad, s, h)
}

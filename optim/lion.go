package optim

import "gorgonia.org/tensor"

// Lion moves every element by the same amount, in the direction of an
// interpolated momentum (Chen et al., 2023, Symbolic Discovery of Optimization
// Algorithms). It wants a rate 3 to 10 times smaller than AdamW and a decay as
// many times larger.
//
// Slots: exp_avg.
type Lion struct {
	LR          float64 // 1e-4
	Beta1       float64 // 0.9; momentum in the direction of this step
	Beta2       float64 // 0.99; momentum that is kept
	WeightDecay float64 // 0; decoupled
}

func (r Lion) resolve() (Lion, error) {
	c := resolver{rule: "Lion"}
	r.LR = c.value("LR", r.LR, 1e-4, inf)
	r.Beta1 = c.value("Beta1", r.Beta1, 0.9, 1)
	r.Beta2 = c.value("Beta2", r.Beta2, 0.99, 1)
	r.WeightDecay = c.value("WeightDecay", r.WeightDecay, 0, inf)
	return r, c.err
}

// Init implements [Rule].
func (r Lion) Init(w *tensor.Dense) ([]Slot, error) {
	if _, err := r.resolve(); err != nil {
		return nil, err
	}
	return fresh("Lion", w, "exp_avg")
}

// Step implements [Rule].
func (r Lion) Step(w, grad *tensor.Dense, s []Slot, h Hyper) error {
	r, err := r.resolve()
	if err != nil {
		return err
	}
	if err := ready("Lion", w, grad, h, s, "exp_avg"); err != nil {
		return err
	}
	r.LR *= h.Rate
	if w.Dtype() == tensor.Float32 {
		lion[float32](r, w, grad, s[0].Data)
	} else {
		lion[float64](r, w, grad, s[0].Data)
	}
	return nil
}

func lion[F float](r Lion, weight, grad, mean *tensor.Dense) {
	w := elems[F](weight)
	g := elems[F](grad)[:len(w)]
	m := elems[F](mean)[:len(w)]
	lr, keep := F(r.LR), F(1-r.LR*r.WeightDecay)
	beta1, beta2, take1, take2 := F(r.Beta1), F(r.Beta2), F(1-r.Beta1), F(1-r.Beta2)
	for i, x := range w {
		d := beta1*m[i] + take1*g[i]
		m[i] = beta2*m[i] + take2*g[i]
		x *= keep
		switch {
		case d > 0:
			x -= lr
		case d < 0:
			x += lr
		case d != d: // a NaN must not pass for "no change"
			x = d
		}
		w[i] = x
	}
}

package optim

import "gorgonia.org/tensor"

// Adadelta is torch.optim.Adadelta (Zeiler, 2012): the step is the gradient times the root mean square of past steps
// over that of past gradients.
//
// Slots: square_avg, the running mean of squared gradients, and acc_delta, that of squared steps before LR.
type Adadelta struct {
	LR          float64 // 1
	Rho         float64 // 0.9; decay of both running means
	Eps         float64 // 1e-6
	WeightDecay float64 // 0; added to the gradient (L2)
}

func (r Adadelta) resolve() (Adadelta, error) {
	c := resolver{rule: "Adadelta"}
	r.LR = c.value("LR", r.LR, 1, inf)
	r.Rho = c.value("Rho", r.Rho, 0.9, 1)
	r.Eps = c.value("Eps", r.Eps, 1e-6, inf)
	r.WeightDecay = c.value("WeightDecay", r.WeightDecay, 0, inf)
	return r, c.err
}

// Init implements [Rule].
func (r Adadelta) Init(w *tensor.Dense) ([]Slot, error) {
	if _, err := r.resolve(); err != nil {
		return nil, err
	}
	return fresh("Adadelta", w, "square_avg", "acc_delta")
}

// Step implements [Rule].
func (r Adadelta) Step(w, grad *tensor.Dense, s []Slot, h Hyper) error {
	r, err := r.resolve()
	if err != nil {
		return err
	}
	if err := ready("Adadelta", w, grad, h, s, "square_avg", "acc_delta"); err != nil {
		return err
	}
	r.LR *= h.Rate
	if w.Dtype() == tensor.Float32 {
		adadelta[float32](r, w, grad, s)
	} else {
		adadelta[float64](r, w, grad, s)
	}
	return nil
}

func adadelta[F float](r Adadelta, weight, grad *tensor.Dense, s []Slot) {
	w := elems[F](weight)
	g := elems[F](grad)[:len(w)]
	square := elems[F](s[0].Data)[:len(w)]
	moved := elems[F](s[1].Data)[:len(w)]
	lr, decay, eps, rho, take := F(r.LR), F(r.WeightDecay), F(r.Eps), F(r.Rho), F(1-r.Rho)
	for i, x := range w {
		d := g[i] + decay*x
		square[i] = rho*square[i] + take*d*d
		step := sqrt(moved[i]+eps) / sqrt(square[i]+eps) * d
		moved[i] = rho*moved[i] + take*step*step
		w[i] = x - lr*step
	}
}

// Formula implements [Formula].
func (r Adadelta) Formula(b Builder, w, grad Term, s []Term, rate, step Term) (Term, []Term, error) {
	if b == nil {
		return nil, nil, errNoBuilder
	}
	r, err := r.resolve()
	if err != nil {
		return nil, nil, err
	}
	eps := b.Number(r.Eps)
	d := decayed(b, grad, w, r.WeightDecay)
	square := moment(b, r.Rho, s[0], b.Mul(d, d))
	by := b.Mul(b.Div(b.Sqrt(b.Add(s[1], eps)), b.Sqrt(b.Add(square, eps))), d)
	moved := moment(b, r.Rho, s[1], b.Mul(by, by))
	return b.Sub(w, b.Mul(b.Mul(rate, b.Number(r.LR)), by)), []Term{square, moved}, nil
}

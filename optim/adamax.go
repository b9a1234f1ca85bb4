package optim

import (
	"math"

	"gorgonia.org/tensor"
)

// Adamax is torch.optim.Adamax (Kingma and Ba, 2015): Adam with the decayed maximum of past gradients
// instead of the mean square.
//
// Slots: exp_avg and exp_inf.
type Adamax struct {
	LR          float64 // 2e-3
	Beta1       float64 // 0.9
	Beta2       float64 // 0.999
	Eps         float64 // 1e-8; added to the gradient's magnitude
	WeightDecay float64 // 0; added to the gradient (L2)
}

func (r Adamax) resolve() (Adamax, error) {
	c := resolver{rule: "Adamax"}
	r.LR = c.value("LR", r.LR, 2e-3, inf)
	r.Beta1 = c.value("Beta1", r.Beta1, 0.9, 1)
	r.Beta2 = c.value("Beta2", r.Beta2, 0.999, 1)
	r.Eps = c.value("Eps", r.Eps, 1e-8, inf)
	r.WeightDecay = c.value("WeightDecay", r.WeightDecay, 0, inf)
	return r, c.err
}

// Init implements [Rule].
func (r Adamax) Init(w *tensor.Dense) ([]Slot, error) {
	if _, err := r.resolve(); err != nil {
		return nil, err
	}
	return fresh("Adamax", w, "exp_avg", "exp_inf")
}

// Step implements [Rule].
func (r Adamax) Step(w, grad *tensor.Dense, s []Slot, h Hyper) error {
	r, err := r.resolve()
	if err != nil {
		return err
	}
	if err := ready("Adamax", w, grad, h, s, "exp_avg", "exp_inf"); err != nil {
		return err
	}
	r.LR *= h.Rate / (1 - math.Pow(r.Beta1, float64(h.Step+1)))
	if w.Dtype() == tensor.Float32 {
		adamax[float32](r, w, grad, s)
	} else {
		adamax[float64](r, w, grad, s)
	}
	return nil
}

func adamax[F float](r Adamax, weight, grad *tensor.Dense, s []Slot) {
	w := elems[F](weight)
	g := elems[F](grad)[:len(w)]
	m := elems[F](s[0].Data)[:len(w)]
	most := elems[F](s[1].Data)[:len(w)]
	lr, decay, eps := F(r.LR), F(r.WeightDecay), F(r.Eps)
	beta1, take1, beta2 := F(r.Beta1), F(1-r.Beta1), F(r.Beta2)
	for i, x := range w {
		d := g[i] + decay*x
		m[i] = beta1*m[i] + take1*d
		most[i] = max(beta2*most[i], max(d, -d)+eps)
		w[i] = x - lr*m[i]/most[i]
	}
}

// Formula implements [Formula].
func (r Adamax) Formula(b Builder, w, grad Term, s []Term, rate, step Term) (Term, []Term, error) {
	if b == nil {
		return nil, nil, errNoBuilder
	}
	r, err := r.resolve()
	if err != nil {
		return nil, nil, err
	}
	d := decayed(b, grad, w, r.WeightDecay)
	m := moment(b, r.Beta1, s[0], d)
	size := b.Add(b.Max(d, b.Sub(b.Number(0), d)), b.Number(r.Eps))
	most := b.Max(b.Mul(b.Number(r.Beta2), s[1]), size)
	lr := b.Div(b.Mul(rate, b.Number(r.LR)), corrected(b, r.Beta1, b.Add(step, b.Number(1))))
	return b.Sub(w, b.Div(b.Mul(lr, m), most)), []Term{m, most}, nil
}

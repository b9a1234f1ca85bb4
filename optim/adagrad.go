package optim

import "gorgonia.org/tensor"

// Adagrad is torch.optim.Adagrad (Duchi, Hazan and Singer, 2011).
//
// Slots: sum, the squares of all gradients so far.
type Adagrad struct {
	LR          float64 // 1e-2
	LRDecay     float64 // 0; the rate is divided by 1 + step·LRDecay
	WeightDecay float64 // 0; added to the gradient (L2)
	Initial     float64 // 0; initial value of sum
	Eps         float64 // 1e-10
}

func (r Adagrad) resolve() (Adagrad, error) {
	c := resolver{rule: "Adagrad"}
	r.LR = c.value("LR", r.LR, 1e-2, inf)
	r.LRDecay = c.value("LRDecay", r.LRDecay, 0, inf)
	r.WeightDecay = c.value("WeightDecay", r.WeightDecay, 0, inf)
	r.Initial = c.value("Initial", r.Initial, 0, inf)
	r.Eps = c.value("Eps", r.Eps, 1e-10, inf)
	return r, c.err
}

// Init implements [Rule].
func (r Adagrad) Init(w *tensor.Dense) ([]Slot, error) {
	r, err := r.resolve()
	if err != nil {
		return nil, err
	}
	s, err := fresh("Adagrad", w, "sum")
	if err != nil {
		return nil, err
	}
	if w.Dtype() == tensor.Float32 {
		fill(elems[float32](s[0].Data), float32(r.Initial))
	} else {
		fill(elems[float64](s[0].Data), r.Initial)
	}
	return s, nil
}

func fill[F float](to []F, v F) {
	for i := range to {
		to[i] = v
	}
}

// Step implements [Rule].
func (r Adagrad) Step(w, grad *tensor.Dense, s []Slot, h Hyper) error {
	r, err := r.resolve()
	if err != nil {
		return err
	}
	if err := ready("Adagrad", w, grad, h, s, "sum"); err != nil {
		return err
	}
	r.LR *= h.Rate / (1 + float64(h.Step)*r.LRDecay)
	if w.Dtype() == tensor.Float32 {
		adagrad[float32](r, w, grad, s[0].Data)
	} else {
		adagrad[float64](r, w, grad, s[0].Data)
	}
	return nil
}

func adagrad[F float](r Adagrad, weight, grad, total *tensor.Dense) {
	w := elems[F](weight)
	g := elems[F](grad)[:len(w)]
	sum := elems[F](total)[:len(w)]
	lr, decay, eps := F(r.LR), F(r.WeightDecay), F(r.Eps)
	for i, x := range w {
		d := g[i] + decay*x
		v := sum[i] + d*d
		sum[i] = v
		w[i] = x - lr*d/(sqrt(v)+eps)
	}
}

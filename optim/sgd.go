package optim

import "gorgonia.org/tensor"

// SGD is stochastic gradient descent with momentum, as torch.optim.SGD.
//
// Slots: momentum_buffer, none without momentum.
type SGD struct {
	LR          float64 // 1e-3
	Momentum    float64 // 0
	Dampening   float64 // 0; fraction of the gradient that does not enter the momentum
	WeightDecay float64 // 0; added to the gradient (L2)
	Nesterov    bool    // Nesterov momentum, in PyTorch's form
}

func (r SGD) resolve() (SGD, error) {
	c := resolver{rule: "SGD"}
	r.LR = c.value("LR", r.LR, 1e-3, inf)
	r.Momentum = c.value("Momentum", r.Momentum, 0, inf)
	r.Dampening = c.value("Dampening", r.Dampening, 0, inf)
	r.WeightDecay = c.value("WeightDecay", r.WeightDecay, 0, inf)
	return r, c.err
}

// Init implements [Rule].
func (r SGD) Init(w *tensor.Dense) ([]Slot, error) {
	r, err := r.resolve()
	if err != nil {
		return nil, err
	}
	return fresh("SGD", w, r.slots()...)
}

var sgdSlots = [...]string{"momentum_buffer"}

// slots returns the names of the slots.
func (r SGD) slots() []string {
	if r.Momentum == 0 {
		return nil
	}
	return sgdSlots[:]
}

// Step implements [Rule].
func (r SGD) Step(w, grad *tensor.Dense, s []Slot, h Hyper) error {
	r, err := r.resolve()
	if err != nil {
		return err
	}
	if err := ready("SGD", w, grad, h, s, r.slots()...); err != nil {
		return err
	}
	var buf *tensor.Dense
	if len(s) > 0 {
		buf = s[0].Data
	}
	r.LR *= h.Rate
	if h.Step == 0 {
		r.Dampening = 0 // the first gradient enters the buffer undamped
	}
	if w.Dtype() == tensor.Float32 {
		sgd[float32](r, w, grad, buf)
	} else {
		sgd[float64](r, w, grad, buf)
	}
	return nil
}

func sgd[F float](r SGD, weight, grad, buffer *tensor.Dense) {
	w := elems[F](weight)
	g := elems[F](grad)[:len(w)]
	lr, decay := F(r.LR), F(r.WeightDecay)
	if buffer == nil {
		for i, x := range w {
			w[i] = x - lr*(g[i]+decay*x)
		}
		return
	}
	b := elems[F](buffer)[:len(w)]
	momentum, take := F(r.Momentum), F(1-r.Dampening)
	if !r.Nesterov {
		done := sgdVector(w, g, b, lr, decay, momentum, take)
		w, g, b = w[done:], g[done:], b[done:]
		g, b = g[:len(w)], b[:len(w)]
		for i, x := range w {
			v := momentum*b[i] + take*(g[i]+decay*x)
			b[i] = v
			w[i] = x - lr*v
		}
		return
	}
	for i, x := range w {
		d := g[i] + decay*x
		v := momentum*b[i] + take*d
		b[i] = v
		w[i] = x - lr*(d+momentum*v)
	}
}

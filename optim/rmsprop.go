package optim

import "gorgonia.org/tensor"

// RMSprop is torch.optim.RMSprop (Hinton's lecture 6e; Centered: Graves, 2013).
//
// Slots: square_avg; grad_avg when centered; momentum_buffer with momentum.
type RMSprop struct {
	LR          float64 // 1e-2
	Alpha       float64 // 0.99; decay of the mean square
	Eps         float64 // 1e-8; outside the square root
	WeightDecay float64 // 0; added to the gradient (L2)
	Momentum    float64 // 0
	Centered    bool    // divide by the standard deviation, not the root mean square
}

func (r RMSprop) resolve() (RMSprop, error) {
	c := resolver{rule: "RMSprop"}
	r.LR = c.value("LR", r.LR, 1e-2, inf)
	r.Alpha = c.value("Alpha", r.Alpha, 0.99, 1)
	r.Eps = c.value("Eps", r.Eps, 1e-8, inf)
	r.WeightDecay = c.value("WeightDecay", r.WeightDecay, 0, inf)
	r.Momentum = c.value("Momentum", r.Momentum, 0, inf)
	return r, c.err
}

// Init implements [Rule].
func (r RMSprop) Init(w *tensor.Dense) ([]Slot, error) {
	r, err := r.resolve()
	if err != nil {
		return nil, err
	}
	names, n := r.slots()
	return fresh("RMSprop", w, names[:n]...)
}

// slots returns the names of the n slots.
func (r RMSprop) slots() (names [3]string, n int) {
	names[0], n = "square_avg", 1
	if r.Centered {
		names[n], n = "grad_avg", n+1
	}
	if r.Momentum > 0 {
		names[n], n = "momentum_buffer", n+1
	}
	return names, n
}

// Step implements [Rule].
func (r RMSprop) Step(w, grad *tensor.Dense, s []Slot, h Hyper) error {
	r, err := r.resolve()
	if err != nil {
		return err
	}
	names, n := r.slots()
	if err := ready("RMSprop", w, grad, h, s, names[:n]...); err != nil {
		return err
	}
	r.LR *= h.Rate
	if w.Dtype() == tensor.Float32 {
		rmsprop[float32](r, w, grad, s)
	} else {
		rmsprop[float64](r, w, grad, s)
	}
	return nil
}

func rmsprop[F float](r RMSprop, weight, grad *tensor.Dense, s []Slot) {
	w := elems[F](weight)
	g := elems[F](grad)[:len(w)]
	sq := elems[F](s[0].Data)[:len(w)]
	var avg, buf []F
	s = s[1:]
	if r.Centered {
		avg, s = elems[F](s[0].Data), s[1:]
	}
	if r.Momentum > 0 {
		buf = elems[F](s[0].Data)
	}
	lr, decay, eps, momentum := F(r.LR), F(r.WeightDecay), F(r.Eps), F(r.Momentum)
	alpha, take := F(r.Alpha), F(1-r.Alpha)
	for i, x := range w {
		d := g[i] + decay*x
		sq[i] = alpha*sq[i] + take*d*d
		v := sq[i]
		if avg != nil {
			avg[i] = alpha*avg[i] + take*d
			v = max(v-avg[i]*avg[i], 0) // rounding must not make the variance negative
		}
		u := d / (sqrt(v) + eps)
		if buf != nil {
			u += momentum * buf[i]
			buf[i] = u
		}
		w[i] = x - lr*u
	}
}

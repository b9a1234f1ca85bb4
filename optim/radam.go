package optim

import (
	"math"

	"gorgonia.org/tensor"
)

// RAdam is rectified Adam, as torch.optim.RAdam (Liu et al., 2020): while the
// mean square rests on too few steps it does plain momentum.
//
// Slots: exp_avg, exp_avg_sq.
type RAdam struct {
	LR          float64 // 1e-3
	Beta1       float64 // 0.9
	Beta2       float64 // 0.999
	Eps         float64 // 1e-8
	WeightDecay float64 // 0; added to the gradient (L2)
}

func (r RAdam) resolve() (RAdam, error) {
	c := resolver{rule: "RAdam"}
	r.LR = c.value("LR", r.LR, 1e-3, inf)
	r.Beta1 = c.value("Beta1", r.Beta1, 0.9, 1)
	r.Beta2 = c.value("Beta2", r.Beta2, 0.999, 1)
	r.Eps = c.value("Eps", r.Eps, 1e-8, inf)
	r.WeightDecay = c.value("WeightDecay", r.WeightDecay, 0, inf)
	return r, c.err
}

// Init implements [Rule].
func (r RAdam) Init(w *tensor.Dense) ([]Slot, error) {
	if _, err := r.resolve(); err != nil {
		return nil, err
	}
	return fresh("RAdam", w, "exp_avg", "exp_avg_sq")
}

// Step implements [Rule].
func (r RAdam) Step(w, grad *tensor.Dense, s []Slot, h Hyper) error {
	r, err := r.resolve()
	if err != nil {
		return err
	}
	if err := ready("RAdam", w, grad, h, s, "exp_avg", "exp_avg_sq"); err != nil {
		return err
	}
	r.LR *= h.Rate
	rect := r.rectify(float64(h.Step + 1))
	r.LR /= 1 - math.Pow(r.Beta1, float64(h.Step+1))
	if w.Dtype() == tensor.Float32 {
		radam[float32](r, rect, w, grad, s)
	} else {
		radam[float64](r, rect, w, grad, s)
	}
	return nil
}

// rectify returns the factor on the adaptive rate of step t, bias correction
// of the mean square included, or 0 while its variance is not yet tractable.
func (r RAdam) rectify(t float64) float64 {
	decay := math.Pow(r.Beta2, t)
	full := 2/(1-r.Beta2) - 1
	rho := full - 2*t*decay/(1-decay)
	if rho <= 5 {
		return 0
	}
	rect := math.Sqrt((rho - 4) * (rho - 2) * full / ((full - 4) * (full - 2) * rho))
	return rect * math.Sqrt(1-decay)
}

func radam[F float](r RAdam, rectified float64, weight, grad *tensor.Dense, s []Slot) {
	w := elems[F](weight)
	g := elems[F](grad)[:len(w)]
	m := elems[F](s[0].Data)[:len(w)]
	v := elems[F](s[1].Data)[:len(w)]
	lr, decay, eps, rect := F(r.LR), F(r.WeightDecay), F(r.Eps), F(rectified)
	beta1, beta2, take1, take2 := F(r.Beta1), F(r.Beta2), F(1-r.Beta1), F(1-r.Beta2)
	for i, x := range w {
		d := g[i] + decay*x
		m[i] = beta1*m[i] + take1*d
		v[i] = beta2*v[i] + take2*d*d
		u := lr * m[i]
		if rect > 0 {
			u *= rect / (sqrt(v[i]) + eps)
		}
		w[i] = x - u
	}
}

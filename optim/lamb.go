package optim

import (
	"math"

	"gorgonia.org/tensor"
)

// LAMB scales Adam's update of each weight tensor to the norm of the weight,
// for large batches (You et al., 2020, algorithm 2 with bias correction and φ
// the identity; where either norm is zero the scale is 1).
//
// It needs a pass for the norms and one for the update. Slots: exp_avg,
// exp_avg_sq.
type LAMB struct {
	LR          float64 // 1e-3
	Beta1       float64 // 0.9
	Beta2       float64 // 0.999
	Eps         float64 // 1e-6
	WeightDecay float64 // 0.01; part of the scaled update
}

func (r LAMB) resolve() (LAMB, error) {
	c := resolver{rule: "LAMB"}
	r.LR = c.value("LR", r.LR, 1e-3, inf)
	r.Beta1 = c.value("Beta1", r.Beta1, 0.9, 1)
	r.Beta2 = c.value("Beta2", r.Beta2, 0.999, 1)
	r.Eps = c.value("Eps", r.Eps, 1e-6, inf)
	r.WeightDecay = c.value("WeightDecay", r.WeightDecay, 0.01, inf)
	return r, c.err
}

// Init implements [Rule].
func (r LAMB) Init(w *tensor.Dense) ([]Slot, error) {
	if _, err := r.resolve(); err != nil {
		return nil, err
	}
	return fresh("LAMB", w, "exp_avg", "exp_avg_sq")
}

// Step implements [Rule].
func (r LAMB) Step(w, grad *tensor.Dense, s []Slot, h Hyper) error {
	r, err := r.resolve()
	if err != nil {
		return err
	}
	if err := ready("LAMB", w, grad, h, s, "exp_avg", "exp_avg_sq"); err != nil {
		return err
	}
	r.LR *= h.Rate
	if w.Dtype() == tensor.Float32 {
		lamb[float32](r, w, grad, s, h.Step+1)
	} else {
		lamb[float64](r, w, grad, s, h.Step+1)
	}
	return nil
}

func lamb[F float](r LAMB, weight, grad *tensor.Dense, s []Slot, t int) {
	w := elems[F](weight)
	g := elems[F](grad)[:len(w)]
	m := elems[F](s[0].Data)[:len(w)]
	v := elems[F](s[1].Data)[:len(w)]
	beta1, beta2, take1, take2 := F(r.Beta1), F(r.Beta2), F(1-r.Beta1), F(1-r.Beta2)
	bias1 := F(1 - math.Pow(r.Beta1, float64(t)))
	bias2 := F(math.Sqrt(1 - math.Pow(r.Beta2, float64(t))))
	eps, decay := F(r.Eps), F(r.WeightDecay)

	var ww, uu float64
	for i, x := range w {
		m[i] = beta1*m[i] + take1*g[i]
		v[i] = beta2*v[i] + take2*g[i]*g[i]
		u := m[i]/bias1/(sqrt(v[i])/bias2+eps) + decay*x
		g[i] = u // the gradient is not read again and serves as scratch
		ww += float64(x) * float64(x)
		uu += float64(u) * float64(u)
	}
	trust := 1.0
	if ww > 0 && uu > 0 {
		trust = math.Sqrt(ww / uu)
	}
	rate := F(r.LR * trust)
	for i, u := range g {
		w[i] -= rate * u
	}
}

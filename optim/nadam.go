package optim

import (
	"fmt"
	"math"
	"slices"

	"gorgonia.org/tensor"
)

// NAdam is Adam with Nesterov momentum, as documented for torch.optim.NAdam
// (Dozat, 2016). PyTorch up to 1.13 multiplied one factor too many into the
// correction of the coming step; this is the corrected formula.
//
// Slots: exp_avg, exp_avg_sq and mu_product, one float64: the product of all
// momentum coefficients so far.
type NAdam struct {
	LR            float64 // 2e-3
	Beta1         float64 // 0.9
	Beta2         float64 // 0.999
	Eps           float64 // 1e-8
	WeightDecay   float64 // 0; added to the gradient (L2)
	MomentumDecay float64 // 4e-3
}

func (r NAdam) resolve() (NAdam, error) {
	c := resolver{rule: "NAdam"}
	r.LR = c.value("LR", r.LR, 2e-3, inf)
	r.Beta1 = c.value("Beta1", r.Beta1, 0.9, 1)
	r.Beta2 = c.value("Beta2", r.Beta2, 0.999, 1)
	r.Eps = c.value("Eps", r.Eps, 1e-8, inf)
	r.WeightDecay = c.value("WeightDecay", r.WeightDecay, 0, inf)
	r.MomentumDecay = c.value("MomentumDecay", r.MomentumDecay, 4e-3, inf)
	return r, c.err
}

// Init implements [Rule].
func (r NAdam) Init(w *tensor.Dense) ([]Slot, error) {
	if _, err := r.resolve(); err != nil {
		return nil, err
	}
	s, err := fresh("NAdam", w, "exp_avg", "exp_avg_sq")
	if err != nil {
		return nil, err
	}
	one := tensor.New(tensor.WithShape(1), tensor.WithBacking([]float64{1}))
	return append(s, Slot{Name: "mu_product", Data: one, Axes: []int{-1}}), nil
}

// Step implements [Rule].
func (r NAdam) Step(w, grad *tensor.Dense, s []Slot, h Hyper) error {
	r, err := r.resolve()
	if err != nil {
		return err
	}
	if err := count("NAdam", s, 3); err != nil {
		return err
	}
	if err := ready("NAdam", w, grad, h, s[:2], "exp_avg", "exp_avg_sq"); err != nil {
		return err
	}
	mu := s[2].Data
	if s[2].Name != "mu_product" || mu == nil || mu.Dtype() != tensor.Float64 || !slices.Equal(mu.Shape(), tensor.Shape{1}) {
		return fmt.Errorf("optim: NAdam: slot 2 is %q, want \"mu_product\", one float64 of shape (1)", s[2].Name)
	}
	r.LR *= h.Rate
	k := r.factors(mu.Float64s(), float64(h.Step+1))
	if w.Dtype() == tensor.Float32 {
		nadam[float32](r, k, w, grad, s)
	} else {
		nadam[float64](r, k, w, grad, s)
	}
	return nil
}

// nadamFactors are the numbers of one step: the rates of the gradient and of
// its mean, and the bias correction of the mean square.
type nadamFactors struct{ grad, mean, bias float64 }

// factors advances the product of momentum coefficients to step t.
func (r NAdam) factors(product []float64, t float64) nadamFactors {
	mu := r.Beta1 * (1 - 0.5*math.Pow(0.96, t*r.MomentumDecay))
	next := r.Beta1 * (1 - 0.5*math.Pow(0.96, (t+1)*r.MomentumDecay))
	product[0] *= mu
	return nadamFactors{
		grad: r.LR * (1 - mu) / (1 - product[0]),
		mean: r.LR * next / (1 - product[0]*next),
		bias: 1 - math.Pow(r.Beta2, t),
	}
}

func nadam[F float](r NAdam, k nadamFactors, weight, grad *tensor.Dense, s []Slot) {
	w := elems[F](weight)
	g := elems[F](grad)[:len(w)]
	m := elems[F](s[0].Data)[:len(w)]
	v := elems[F](s[1].Data)[:len(w)]
	decay, eps := F(r.WeightDecay), F(r.Eps)
	beta1, beta2, take1, take2 := F(r.Beta1), F(r.Beta2), F(1-r.Beta1), F(1-r.Beta2)
	rateG, rateM, bias := F(k.grad), F(k.mean), F(k.bias)
	for i, x := range w {
		d := g[i] + decay*x
		m[i] = beta1*m[i] + take1*d
		v[i] = beta2*v[i] + take2*d*d
		w[i] = x - (rateG*d+rateM*m[i])/(sqrt(v[i]/bias)+eps)
	}
}

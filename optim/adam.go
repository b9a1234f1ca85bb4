package optim

import (
	"math"

	"gorgonia.org/tensor"
)

// Adam is torch.optim.Adam (Kingma and Ba, 2015; AMSGrad: Reddi et al., 2018).
// Its weight decay is added to the gradient (L2); [AdamW] decouples it.
//
// Slots: exp_avg, exp_avg_sq and, with AMSGrad, max_exp_avg_sq.
type Adam struct {
	LR          float64 // 1e-3
	Beta1       float64 // 0.9
	Beta2       float64 // 0.999
	Eps         float64 // 1e-8
	WeightDecay float64 // 0
	AMSGrad     bool    // divide by the largest second moment so far
}

func (r Adam) resolve() (adam, error) {
	c := resolver{rule: "Adam"}
	return adam{
		name:    "Adam",
		lr:      c.value("LR", r.LR, 1e-3, inf),
		beta1:   c.value("Beta1", r.Beta1, 0.9, 1),
		beta2:   c.value("Beta2", r.Beta2, 0.999, 1),
		eps:     c.value("Eps", r.Eps, 1e-8, inf),
		l2:      c.value("WeightDecay", r.WeightDecay, 0, inf),
		amsgrad: r.AMSGrad,
	}, c.err
}

// Init implements [Rule].
func (r Adam) Init(w *tensor.Dense) ([]Slot, error) {
	a, err := r.resolve()
	if err != nil {
		return nil, err
	}
	return a.init(w)
}

// Step implements [Rule].
func (r Adam) Step(w, grad *tensor.Dense, s []Slot, h Hyper) error {
	a, err := r.resolve()
	if err != nil {
		return err
	}
	return a.step(w, grad, s, h)
}

// adam holds the settings that Adam and AdamW share, with defaults filled in.
type adam struct {
	name                  string
	lr, beta1, beta2, eps float64
	l2, decay             float64 // added to the gradient; taken off the weight
	amsgrad               bool
}

func (a adam) init(w *tensor.Dense) ([]Slot, error) {
	return fresh(a.name, w, a.slots()...)
}

var adamSlots = [...]string{"exp_avg", "exp_avg_sq", "max_exp_avg_sq"}

// slots returns the names of the slots.
func (a adam) slots() []string {
	if a.amsgrad {
		return adamSlots[:]
	}
	return adamSlots[:2]
}

func (a adam) step(w, grad *tensor.Dense, s []Slot, h Hyper) error {
	if err := ready(a.name, w, grad, h, s, a.slots()...); err != nil {
		return err
	}
	a.lr *= h.Rate
	if w.Dtype() == tensor.Float32 {
		adamUpdate[float32](a, w, grad, s, h.Step+1)
	} else {
		adamUpdate[float64](a, w, grad, s, h.Step+1)
	}
	return nil
}

// adamUpdate makes update number t, counted from 1.
func adamUpdate[F float](a adam, weight, grad *tensor.Dense, s []Slot, t int) {
	w := elems[F](weight)
	g := elems[F](grad)[:len(w)]
	m := elems[F](s[0].Data)[:len(w)]
	v := elems[F](s[1].Data)[:len(w)]
	keep, l2 := F(1-a.lr*a.decay), F(a.l2)
	beta1, beta2, take1, take2 := F(a.beta1), F(a.beta2), F(1-a.beta1), F(1-a.beta2)
	rate := F(a.lr / (1 - math.Pow(a.beta1, float64(t))))
	bias := F(math.Sqrt(1 - math.Pow(a.beta2, float64(t))))
	eps := F(a.eps)
	if a.amsgrad {
		top := elems[F](s[2].Data)[:len(w)]
		for i, x := range w {
			d := g[i] + l2*x
			m[i] = beta1*m[i] + take1*d
			v[i] = beta2*v[i] + take2*d*d
			top[i] = max(top[i], v[i])
			w[i] = x*keep - rate*m[i]/(sqrt(top[i])/bias+eps)
		}
		return
	}
	unbias := 1 / bias
	done := adamVector(w, g, m, v, [9]F{keep, l2, beta1, take1, beta2, take2, rate, unbias, eps})
	w, g, m, v = w[done:], g[done:], m[done:], v[done:]
	g, m, v = g[:len(w)], m[:len(w)], v[:len(w)]
	for i, x := range w {
		d := g[i] + l2*x
		mi := beta1*m[i] + take1*d
		vi := beta2*v[i] + take2*d*d
		m[i], v[i] = mi, vi
		w[i] = x*keep - rate*mi/(sqrt(vi)*unbias+eps)
	}
}

func sqrt[F float](x F) F { return F(math.Sqrt(float64(x))) }

package optim

import (
	"errors"
	"fmt"
	"math"
)

// Term is a tensor or a number in a formula that a Builder writes.
type Term any

// Builder writes formulas, for example as nodes of a graph. Numbers are float64; a number that is combined with a tensor is
// rounded to the tensor's element type first. Shapes broadcast.
type Builder interface {
	Number(x float64) Term // the constant x
	Add(a, b Term) Term    // a + b
	Sub(a, b Term) Term    // a − b
	Mul(a, b Term) Term    // a · b
	Div(a, b Term) Term    // a / b
	Max(a, b Term) Term    // the larger, element by element
	Min(a, b Term) Term    // the smaller
	Pow(a, b Term) Term    // a to the power of b
	Sqrt(a Term) Term      // √a
	Sign(a Term) Term      // −1, 0 or 1
	// Where is a where test > 0 and b elsewhere.
	Where(test, a, b Term) Term
	// Mean is the mean over axes of a tensor of the weight's rank; axes are negative, −1 is the last, and remain with
	// length 1. Without axes it is the mean of all elements, a number.
	Mean(a Term, axes ...int) Term
	// Sum is the sum of all elements, a number.
	Sum(a Term) Term
	// Rank returns the number of axes of the weight.
	Rank() int
	Wide() bool // reports whether terms are float64
}

// Formula is a Rule that can write the formulas of Step: the weight and the slots, in the order of Init, after the step
// as functions of those before, of the gradient, and of numbers as in Hyper.
type Formula interface {
	Rule
	Formula(b Builder, w, grad Term, s []Term, rate, step Term) (next Term, slots []Term, err error)
}

// moment is old·β + new·(1−β).
func moment(b Builder, beta float64, old, now Term) Term {
	return b.Add(b.Mul(b.Number(beta), old), b.Mul(b.Number(1-beta), now))
}

// corrected is 1 − βᵗ.
func corrected(b Builder, beta float64, t Term) Term {
	return b.Sub(b.Number(1), b.Pow(b.Number(beta), t))
}

// decayed is d + decay·w, the gradient with weight decay.
func decayed(b Builder, d, w Term, decay float64) Term {
	if decay == 0 {
		return d
	}
	return b.Add(d, b.Mul(b.Number(decay), w))
}

// shrunk is w·(1 − rate·decay), decoupled weight decay.
func shrunk(b Builder, w, rate Term, decay float64) Term {
	if decay == 0 {
		return w
	}
	return b.Mul(w, b.Sub(b.Number(1), b.Mul(rate, b.Number(decay))))
}

var errNoBuilder = errors.New("optim: the Builder is nil")

// Formula implements [Formula].
func (r SGD) Formula(b Builder, w, grad Term, s []Term, rate, step Term) (Term, []Term, error) {
	if b == nil {
		return nil, nil, errNoBuilder
	}
	r, err := r.resolve()
	if err != nil {
		return nil, nil, err
	}
	lr := b.Mul(rate, b.Number(r.LR))
	d := decayed(b, grad, w, r.WeightDecay)
	if len(s) == 0 {
		return b.Sub(w, b.Mul(lr, d)), nil, nil
	}
	taken := d
	if r.Dampening != 0 { // the first gradient enters the buffer undamped
		taken = b.Mul(d, b.Where(step, b.Number(1-r.Dampening), b.Number(1)))
	}
	v := b.Add(b.Mul(b.Number(r.Momentum), s[0]), taken)
	if r.Nesterov {
		d = b.Add(d, b.Mul(b.Number(r.Momentum), v))
	} else {
		d = v
	}
	return b.Sub(w, b.Mul(lr, d)), []Term{v}, nil
}

// Formula implements [Formula].
func (r Adam) Formula(b Builder, w, grad Term, s []Term, rate, step Term) (Term, []Term, error) {
	if b == nil {
		return nil, nil, errNoBuilder
	}
	a, err := r.resolve()
	if err != nil {
		return nil, nil, err
	}
	return a.formula(b, w, grad, s, rate, step)
}

// Formula implements [Formula].
func (r AdamW) Formula(b Builder, w, grad Term, s []Term, rate, step Term) (Term, []Term, error) {
	if b == nil {
		return nil, nil, errNoBuilder
	}
	a, err := r.resolve()
	if err != nil {
		return nil, nil, err
	}
	return a.formula(b, w, grad, s, rate, step)
}

func (a adam) formula(b Builder, w, grad Term, s []Term, rate, step Term) (Term, []Term, error) {
	t, lr := b.Add(step, b.Number(1)), b.Mul(rate, b.Number(a.lr))
	d := decayed(b, grad, w, a.l2)
	m := moment(b, a.beta1, s[0], d)
	v := moment(b, a.beta2, s[1], b.Mul(d, d))
	slots, spread := []Term{m, v}, v
	if a.amsgrad {
		spread = b.Max(s[2], v)
		slots = append(slots, spread)
	}
	below := b.Add(b.Div(b.Sqrt(spread), b.Sqrt(corrected(b, a.beta2, t))), b.Number(a.eps))
	move := b.Div(b.Mul(b.Div(lr, corrected(b, a.beta1, t)), m), below)
	return b.Sub(shrunk(b, w, lr, a.decay), move), slots, nil
}

// Formula implements [Formula].
func (r NAdam) Formula(b Builder, w, grad Term, s []Term, rate, step Term) (Term, []Term, error) {
	if b == nil {
		return nil, nil, errNoBuilder
	}
	r, err := r.resolve()
	if err != nil {
		return nil, nil, err
	}
	one, lr := b.Number(1), b.Mul(rate, b.Number(r.LR))
	t := b.Add(step, one)
	mu := func(t Term) Term {
		p := b.Pow(b.Number(0.96), b.Mul(t, b.Number(r.MomentumDecay)))
		return b.Mul(b.Number(r.Beta1), b.Sub(one, b.Mul(b.Number(0.5), p)))
	}
	now, next := mu(t), mu(b.Add(t, one))
	product := b.Mul(s[2], now)
	byGrad := b.Div(b.Mul(lr, b.Sub(one, now)), b.Sub(one, product))
	byMean := b.Div(b.Mul(lr, next), b.Sub(one, b.Mul(product, next)))
	d := decayed(b, grad, w, r.WeightDecay)
	m := moment(b, r.Beta1, s[0], d)
	v := moment(b, r.Beta2, s[1], b.Mul(d, d))
	below := b.Add(b.Sqrt(b.Div(v, corrected(b, r.Beta2, t))), b.Number(r.Eps))
	return b.Sub(w, b.Div(b.Add(b.Mul(byGrad, d), b.Mul(byMean, m)), below)), []Term{m, v, product}, nil
}

// Formula implements [Formula].
func (r RAdam) Formula(b Builder, w, grad Term, s []Term, rate, step Term) (Term, []Term, error) {
	if b == nil {
		return nil, nil, errNoBuilder
	}
	r, err := r.resolve()
	if err != nil {
		return nil, nil, err
	}
	one := b.Number(1)
	t := b.Add(step, one)
	decay := b.Pow(b.Number(r.Beta2), t)
	full := 2/(1-r.Beta2) - 1
	rho := b.Sub(b.Number(full), b.Div(b.Mul(b.Mul(b.Number(2), t), decay), b.Sub(one, decay)))
	known := b.Sub(rho, b.Number(5)) // above 0: the variance is tractable
	safe := b.Max(rho, b.Number(5))
	rect := b.Div(b.Mul(b.Mul(b.Sub(safe, b.Number(4)), b.Sub(safe, b.Number(2))), b.Number(full)), b.Mul(b.Number((full-4)*(full-2)), safe))
	rect = b.Mul(b.Sqrt(rect), b.Sqrt(b.Sub(one, decay)))
	lr := b.Div(b.Mul(rate, b.Number(r.LR)), corrected(b, r.Beta1, t))
	d := decayed(b, grad, w, r.WeightDecay)
	m := moment(b, r.Beta1, s[0], d)
	v := moment(b, r.Beta2, s[1], b.Mul(d, d))
	u := b.Mul(lr, m)
	scaled := b.Mul(u, b.Div(rect, b.Add(b.Sqrt(v), b.Number(r.Eps))))
	return b.Sub(w, b.Where(known, scaled, u)), []Term{m, v}, nil
}

// Formula implements [Formula].
func (r LAMB) Formula(b Builder, w, grad Term, s []Term, rate, step Term) (Term, []Term, error) {
	if b == nil {
		return nil, nil, errNoBuilder
	}
	r, err := r.resolve()
	if err != nil {
		return nil, nil, err
	}
	one := b.Number(1)
	t := b.Add(step, one)
	m := moment(b, r.Beta1, s[0], grad)
	v := moment(b, r.Beta2, s[1], b.Mul(grad, grad))
	below := b.Add(b.Div(b.Sqrt(v), b.Sqrt(corrected(b, r.Beta2, t))), b.Number(r.Eps))
	u := decayed(b, b.Div(b.Div(m, corrected(b, r.Beta1, t)), below), w, r.WeightDecay)
	ww, uu := b.Sum(b.Mul(w, w)), b.Sum(b.Mul(u, u))
	trust := b.Where(b.Mul(ww, uu), b.Sqrt(b.Div(ww, b.Where(uu, uu, one))), one)
	return b.Sub(w, b.Mul(b.Mul(b.Mul(rate, b.Number(r.LR)), trust), u)), []Term{m, v}, nil
}

// Formula implements [Formula].
func (r Lion) Formula(b Builder, w, grad Term, s []Term, rate, _ Term) (Term, []Term, error) {
	if b == nil {
		return nil, nil, errNoBuilder
	}
	r, err := r.resolve()
	if err != nil {
		return nil, nil, err
	}
	lr := b.Mul(rate, b.Number(r.LR))
	d := moment(b, r.Beta1, s[0], grad)
	m := moment(b, r.Beta2, s[0], grad)
	return b.Sub(shrunk(b, w, lr, r.WeightDecay), b.Mul(lr, b.Sign(d))), []Term{m}, nil
}

// Formula implements [Formula].
func (r Adagrad) Formula(b Builder, w, grad Term, s []Term, rate, step Term) (Term, []Term, error) {
	if b == nil {
		return nil, nil, errNoBuilder
	}
	r, err := r.resolve()
	if err != nil {
		return nil, nil, err
	}
	lr := b.Div(b.Mul(rate, b.Number(r.LR)), b.Add(b.Number(1), b.Mul(step, b.Number(r.LRDecay))))
	d := decayed(b, grad, w, r.WeightDecay)
	v := b.Add(s[0], b.Mul(d, d))
	return b.Sub(w, b.Div(b.Mul(lr, d), b.Add(b.Sqrt(v), b.Number(r.Eps)))), []Term{v}, nil
}

// Formula implements [Formula].
func (r RMSprop) Formula(b Builder, w, grad Term, s []Term, rate, _ Term) (Term, []Term, error) {
	if b == nil {
		return nil, nil, errNoBuilder
	}
	r, err := r.resolve()
	if err != nil {
		return nil, nil, err
	}
	lr := b.Mul(rate, b.Number(r.LR))
	d := decayed(b, grad, w, r.WeightDecay)
	v := moment(b, r.Alpha, s[0], b.Mul(d, d))
	slots, spread := []Term{v}, v
	if r.Centered {
		mean := moment(b, r.Alpha, s[1], d)
		slots, spread = append(slots, mean), b.Max(b.Sub(v, b.Mul(mean, mean)), b.Number(0))
	}
	u := b.Div(d, b.Add(b.Sqrt(spread), b.Number(r.Eps)))
	if r.Momentum > 0 {
		u = b.Add(b.Mul(b.Number(r.Momentum), s[len(s)-1]), u)
		slots = append(slots, u)
	}
	return b.Sub(w, b.Mul(lr, u)), slots, nil
}

// Formula implements [Formula].
func (r Adafactor) Formula(b Builder, w, grad Term, s []Term, rate, step Term) (Term, []Term, error) {
	if b == nil {
		return nil, nil, errNoBuilder
	}
	r, err := r.resolve()
	if err != nil {
		return nil, nil, err
	}
	if r.Eps1 == 0 {
		r.Eps1 = 0x1p-23
		if b.Wide() {
			r.Eps1 = 0x1p-52
		}
	}
	const tiny = 1e-37 // as in adafactor
	one, t := b.Number(1), b.Add(step, b.Number(1))
	lr := b.Mul(rate, b.Number(r.LR))
	rms := func(x Term) Term { return b.Sqrt(b.Mean(b.Mul(x, x))) }
	scale := b.Mul(b.Min(lr, b.Div(one, b.Sqrt(t))), b.Max(b.Number(r.Eps2), rms(w)))
	take := b.Pow(t, b.Number(-r.Beta2Decay))
	eps, floor := b.Number(max(r.Eps1, tiny)), b.Number(max(r.Eps1*r.Eps1, tiny))
	square := b.Mul(grad, grad)
	toward := func(old, now Term) Term { return b.Add(old, b.Mul(take, b.Sub(now, old))) }
	var slots []Term
	var u Term
	if b.Rank() < 2 {
		v := toward(s[0], square)
		slots, u = []Term{v}, b.Div(grad, b.Sqrt(b.Max(v, floor)))
	} else {
		row, col := toward(s[0], b.Mean(square, -1)), toward(s[1], b.Mean(square, -2))
		slots = []Term{row, col}
		mean := b.Max(b.Mean(row, -2), eps)
		u = b.Div(grad, b.Sqrt(b.Max(b.Div(b.Mul(row, col), mean), floor)))
	}
	move := scale
	if !math.IsInf(r.Clip, 1) {
		move = b.Div(scale, b.Max(one, b.Div(rms(u), b.Number(r.Clip))))
	}
	return b.Sub(shrunk(b, w, lr, r.WeightDecay), b.Mul(move, u)), slots, nil
}

// adjusts is a rule of a chain that changes only the gradient.
type adjusts interface {
	adjust(b Builder, w, grad Term) (Term, error)
}

func (r ClipValue) adjust(b Builder, _, grad Term) (Term, error) {
	limit, err := r.limit()
	if err != nil || math.IsInf(limit, 1) {
		return grad, err
	}
	return b.Max(b.Number(-limit), b.Min(b.Number(limit), grad)), nil
}

func (r Decay) adjust(b Builder, w, grad Term) (Term, error) {
	r, err := r.resolve()
	if err != nil {
		return nil, err
	}
	d := decayed(b, grad, w, r.L2)
	if r.L1 != 0 {
		d = b.Add(d, b.Mul(b.Number(r.L1), b.Sign(w)))
	}
	return d, nil
}

// Formula implements [Formula] if all rules of the chain do.
func (c Chain) Formula(b Builder, w, grad Term, s []Term, rate, step Term) (Term, []Term, error) {
	if len(c) == 0 {
		return nil, nil, fmt.Errorf("optim: Chain: no rules")
	}
	last := len(c) - 1
	for i, r := range c[:last] {
		a, ok := r.(adjusts)
		if !ok {
			return nil, nil, fmt.Errorf("optim: Chain: rule %d, %T, has no formula", i, r)
		}
		var err error
		if grad, err = a.adjust(b, w, grad); err != nil {
			return nil, nil, err
		}
	}
	f, ok := c[last].(Formula)
	if !ok {
		return nil, nil, fmt.Errorf("optim: Chain: rule %d, %T, has no formula", last, c[last])
	}
	return f.Formula(b, w, grad, s, rate, step)
}

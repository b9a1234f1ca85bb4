package optim

import (
	"fmt"
	"slices"

	"gorgonia.org/tensor"
)

// Chain applies rules one after the other: those that change the gradient
// ([ClipValue], [Decay]) and then the one that updates the weight.
//
//	optim.Chain{optim.ClipValue{Limit: 0.5}, optim.SGD{Momentum: 0.9}}
//
// Only the last rule may keep slots; they are the chain's.
type Chain []Rule

// Init implements [Rule].
func (c Chain) Init(w *tensor.Dense) ([]Slot, error) {
	if len(c) == 0 {
		return nil, fmt.Errorf("optim: Chain: no rules")
	}
	if i := slices.IndexFunc(c, func(r Rule) bool { return r == nil }); i >= 0 {
		return nil, fmt.Errorf("optim: Chain: rule %d is nil", i)
	}
	last := len(c) - 1
	for i, r := range c[:last] {
		s, err := r.Init(w)
		if err != nil {
			return nil, err
		}
		if len(s) > 0 {
			return nil, fmt.Errorf("optim: Chain: rule %d, %T, keeps slots; only the last may", i, r)
		}
	}
	return c[last].Init(w)
}

// Step implements [Rule]. When a rule fails, those before it may already have
// changed the gradient, never the weight.
func (c Chain) Step(w, grad *tensor.Dense, s []Slot, h Hyper) error {
	if len(c) == 0 {
		return fmt.Errorf("optim: Chain: no rules")
	}
	last := len(c) - 1
	for _, r := range c[:last] {
		if err := r.Step(w, grad, nil, h); err != nil {
			return err
		}
	}
	return c[last].Step(w, grad, s, h)
}

// ClipValue limits each element of the gradient to [−Limit, Limit]; NaN stays
// NaN. It leaves the weight alone: put it in a [Chain].
type ClipValue struct {
	Limit float64 // 1; Off: unlimited
}

// Init implements [Rule]; there are no slots.
func (r ClipValue) Init(w *tensor.Dense) ([]Slot, error) {
	if _, err := r.limit(); err != nil {
		return nil, err
	}
	return nil, usable("ClipValue", "weight", w)
}

func (r ClipValue) limit() (float64, error) {
	if r.Limit == Off {
		return inf, nil
	}
	c := resolver{rule: "ClipValue"}
	return c.value("Limit", r.Limit, 1, inf), c.err
}

// Step implements [Rule].
func (r ClipValue) Step(w, grad *tensor.Dense, s []Slot, h Hyper) error {
	limit, err := r.limit()
	if err != nil {
		return err
	}
	if err := ready("ClipValue", w, grad, h, s); err != nil {
		return err
	}
	if grad.Dtype() == tensor.Float32 {
		clamp(elems[float32](grad), float32(limit))
	} else {
		clamp(elems[float64](grad), limit)
	}
	return nil
}

func clamp[F float](g []F, limit F) {
	for i, d := range g {
		g[i] = max(-limit, min(limit, d))
	}
}

// Decay adds L1·sign(w) + L2·w to the gradient. It does not change the weight itself: use
// it in a [Chain], for a rule without its own decay or for sparse weights.
type Decay struct {
	L1 float64 // 0
	L2 float64 // 0
}

func (r Decay) resolve() (Decay, error) {
	c := resolver{rule: "Decay"}
	r.L1 = c.value("L1", r.L1, 0, inf)
	r.L2 = c.value("L2", r.L2, 0, inf)
	return r, c.err
}

// Init implements [Rule]; there are no slots.
func (r Decay) Init(w *tensor.Dense) ([]Slot, error) {
	if _, err := r.resolve(); err != nil {
		return nil, err
	}
	return nil, usable("Decay", "weight", w)
}

// Step implements [Rule].
func (r Decay) Step(w, grad *tensor.Dense, s []Slot, h Hyper) error {
	r, err := r.resolve()
	if err != nil {
		return err
	}
	if err := ready("Decay", w, grad, h, s); err != nil {
		return err
	}
	if w.Dtype() == tensor.Float32 {
		addDecay[float32](r, w, grad)
	} else {
		addDecay[float64](r, w, grad)
	}
	return nil
}

func addDecay[F float](r Decay, weight, grad *tensor.Dense) {
	w := elems[F](weight)
	g := elems[F](grad)[:len(w)]
	l1, l2 := F(r.L1), F(r.L2)
	for i, x := range w {
		d := l2 * x
		switch {
		case x > 0:
			d += l1
		case x < 0:
			d -= l1
		}
		g[i] += d
	}
}

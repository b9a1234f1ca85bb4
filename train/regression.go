package train

import (
	"math"

	"github.com/graft-ml/graft/nn"
	"gorgonia.org/tensor"
)

// MSE is torch.nn.MSELoss: the mean over all elements of the squared difference.
type MSE struct {
	Sum bool // return the sum instead of the mean
}

// Build implements Loss.
func (l MSE) Build(e *nn.Edit, out, want []*nn.Value) *nn.Value {
	d := difference(e, "MSE", out, want)
	p := lossBuilder{e}
	return p.reduce(p.do("Mul", d, d), l.Sum)
}

// Weight implements Weighted.
func (l MSE) Weight(want []*tensor.Dense) (float64, error) { return samples(l.Sum, want), nil }

// L1 is torch.nn.L1Loss: the mean over all elements of the absolute difference.
type L1 struct {
	Sum bool // return the sum instead of the mean
}

// Build implements Loss.
func (l L1) Build(e *nn.Edit, out, want []*nn.Value) *nn.Value {
	p := lossBuilder{e}
	return p.reduce(p.do("Abs", difference(e, "L1", out, want)), l.Sum)
}

// Weight implements Weighted.
func (l L1) Weight(want []*tensor.Dense) (float64, error) { return samples(l.Sum, want), nil }

// Huber is torch.nn.HuberLoss: d²/2 if the absolute difference d is at most Delta, Delta·(d − Delta/2) beyond. With
// Smooth it is torch.nn.SmoothL1Loss: the same divided by Delta.
type Huber struct {
	Delta  float64 // 0: 1
	Smooth bool    // divide by Delta: torch.nn.SmoothL1Loss(beta=Delta)
	Sum    bool    // return the sum instead of the mean
}

// Build implements Loss. With a = |d| and c = min(a, Delta) the loss is c·(a − c/2).
func (l Huber) Build(e *nn.Edit, out, want []*nn.Value) *nn.Value {
	delta := l.Delta
	if delta == 0 {
		delta = 1
	}
	if delta < 0 || math.IsNaN(delta) || math.IsInf(delta, 0) {
		e.Failf("Huber: Delta is %v: want a positive number", delta)
		return nil
	}
	p := lossBuilder{e}
	a := p.do("Abs", difference(e, "Huber", out, want))
	if e.Err() != nil {
		return nil
	}
	c := p.do("Min", a, e.Scalar("delta", a, delta))
	loss := p.reduce(p.do("Mul", c, p.do("Sub", a, p.times(c, 0.5))), l.Sum)
	if l.Smooth {
		loss = p.times(loss, 1/delta)
	}
	return loss
}

// Weight implements Weighted.
func (l Huber) Weight(want []*tensor.Dense) (float64, error) { return samples(l.Sum, want), nil }

func difference(e *nn.Edit, loss string, out, want []*nn.Value) *nn.Value {
	x, y, ok := one(e, loss, out, want)
	if !ok {
		return nil
	}
	y = paired(e, loss, x, y)
	return lossBuilder{e}.do("Sub", x, y)
}

// samples returns the divisor of a mean over samples, negative for a sum.
func samples(sum bool, want []*tensor.Dense) float64 {
	if sum || len(want) == 0 {
		return -1
	}
	return float64(batchOf(want[0]))
}

package train

import (
	"errors"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op/trait"
	"gorgonia.org/tensor"
)

// BCEWithLogits is torch.nn.BCEWithLogitsLoss: the cross-entropy between each element of the target, 0 to 1, and the
// sigmoid of the output. If the model ends in Sigmoid, the logits before it are used.
type BCEWithLogits struct {
	PosWeight []float64 // weight of positive targets: one number, or one per element of the last axis; nil: 1
	Sum       bool      // return the sum instead of the mean
}

// Build implements Loss. Softplus keeps it stable: softplus(x) − x·y, or with a factor w on the
// positive part (1 − y)·x + (1 + (w − 1)·y)·softplus(−x).
func (l BCEWithLogits) Build(e *nn.Edit, out, want []*nn.Value) *nn.Value {
	x, y, ok := one(e, "BCE", out, want)
	if !ok {
		return nil
	}
	if v, n, through := below(e, x, each); through {
		e.Note("BCE: output %q ends in %s %s: the loss is computed from its input, the logits", x.Name(), n.Type(), n.Label())
		x = v
	} else {
		other(e, "BCE", x)
	}
	y = paired(e, "BCE", x, y)
	p := lossBuilder{e}
	if l.PosWeight == nil {
		return p.reduce(p.do("Sub", p.do("Softplus", x), p.do("Mul", x, y)), l.Sum)
	}
	if e.Err() != nil {
		return nil
	}
	less := make([]float64, len(l.PosWeight))
	for i, w := range l.PosWeight {
		less[i] = w - 1
	}
	one := e.Scalar("one", x, 1)
	factor := p.do("Add", p.do("Mul", y, p.vector("pos_weight", x, less)), one)
	rest := p.do("Mul", p.do("Sub", one, y), x)
	return p.reduce(p.do("Add", rest, p.do("Mul", factor, p.do("Softplus", p.do("Neg", x)))), l.Sum)
}

// each selects independent probabilities.
func each(p *trait.Probabilities) bool { return p.Over == nil && !p.Log }

// EndsInEach reports whether v holds independent probabilities (the result of a Sigmoid) rather than logits.
func EndsInEach(v *nn.Value) bool {
	p := scored(v.Producer())
	return p != nil && each(p)
}

func (l BCEWithLogits) check(_ []*nn.Value, want []*tensor.Dense) error {
	if len(want) == 0 {
		return nil
	}
	if dtype.Of(want[0].Dtype()) == dtype.Float32 {
		return checkShares(dtype.Slice[float32](want[0]), batchOf(want[0]))
	}
	list, err := dtype.Float64s(want[0])
	return errors.Join(err, checkShares(list, batchOf(want[0])))
}

func checkShares[F float32 | float64](list []F, samples int) error {
	for i, y := range list {
		if !(y >= 0 && y <= 1) {
			return about{"BCE", errTarget(i, len(list), samples, "%v: want 0 to 1", y)}
		}
	}
	return nil
}

// Weight implements Weighted.
func (l BCEWithLogits) Weight(want []*tensor.Dense) (float64, error) {
	return samples(l.Sum, want), nil
}

package train

import (
	"github.com/graft-ml/graft/nn"
	"gorgonia.org/tensor"
)

// NLL is torch.nn.NLLLoss: the negative output at the true class, for models that end in LogSoftmax. Outputs are [N, C]
// or [N, C, d…], targets int64 [N] or [N, d…].
type NLL struct {
	ClassWeights []float64 // one per class; nil: all 1
	IgnoreIndex  *int      // class that is ignored; nil: -100
	Sum          bool      // return the sum over samples instead of the weighted mean
}

func (l NLL) entropy() CrossEntropy {
	return CrossEntropy{ClassWeights: l.ClassWeights, IgnoreIndex: l.IgnoreIndex, Sum: l.Sum}
}

// Build implements Loss.
func (l NLL) Build(e *nn.Edit, out, want []*nn.Value) *nn.Value {
	x, y, ok := one(e, "NLL", out, want)
	if !ok {
		return nil
	}
	if y.Type().DType.IsFloat() {
		e.Failf("NLL: the target is %v: want classes, int64", y.Type())
		return nil
	}
	x = classScores(e, "NLL", x, y, false)
	if e.Err() != nil {
		return nil
	}
	c := l.entropy()
	classes := x.Type().Shape[1].Size
	if l.ClassWeights != nil && len(l.ClassWeights) != classes {
		e.Failf("NLL: %d class weights for %d classes", len(l.ClassWeights), classes)
		return nil
	}
	if e.Opset() >= 12 {
		return c.fused(e, "NegativeLogLikelihoodLoss", x, y)
	}
	return c.hard(e, x, y, true, classes)
}

// Weight implements Weighted.
func (l NLL) Weight(want []*tensor.Dense) (float64, error) { return l.entropy().Weight(want) }

func (l NLL) check(out []*nn.Value, want []*tensor.Dense) error {
	return l.entropy().check(out, want)
}

package train

import (
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
)

// Scaling is the mean and standard deviation of a regression target.
type Scaling struct{ Mean, Deviation float64 }

// Layer converts a network's output to the unit of the target: y·Deviation + Mean, in float32.
func (s Scaling) Layer() nn.Layer {
	return nn.LayerFunc(func(e *nn.Edit, in ...*nn.Value) []*nn.Value {
		p := lossBuilder{e}
		number := func(name string, x float64) *nn.Value { // a Constant node, not an initializer: it is never trained
			v := p.node("Constant", map[string]any{"value": dtype.Scalar(float32(x))})
			if v != nil {
				e.RenameValue(v, e.New(name))
			}
			return v
		}
		y := p.do("Mul", in[0], number("target_deviation", s.Deviation))
		return []*nn.Value{p.do("Add", y, number("target_mean", s.Mean))}
	})
}

// Loss is l of targets and outputs divided by the deviation, so that it does not depend on the unit.
func (s Scaling) Loss(l Loss) Loss {
	return LossFunc(func(e *nn.Edit, out, want []*nn.Value) *nn.Value {
		if e.Err() != nil || len(out) == 0 || len(want) == 0 {
			return nil
		}
		p := lossBuilder{e}
		divide := func(v *nn.Value) *nn.Value { return p.do("Mul", v, e.Scalar("unit", v, 1/s.Deviation)) }
		return l.Build(e, []*nn.Value{divide(out[0])}, []*nn.Value{divide(want[0])})
	})
}

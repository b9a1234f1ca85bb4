package train

import (
	"github.com/graft-ml/graft/nn"
	"gorgonia.org/tensor"
)

// Distill is the loss of knowledge distillation: α·T²·KL(teacher ‖ student) + (1−α)·cross-entropy, with both softmaxes
// at temperature T in the first term (Hinton, Vinyals and Dean, 2015). Samples have two targets: the class, and the
// teacher's logits [N, C] (see Taught).
type Distill struct {
	Alpha       float64      // α; 0: 0.5, 1: no cross-entropy
	Temperature float64      // T; 0: 2
	Hard        CrossEntropy // the loss with respect to the targets
}

// Build implements Loss.
func (l Distill) Build(e *nn.Edit, out, want []*nn.Value) *nn.Value {
	alpha, heat := l.Alpha, l.Temperature
	if alpha == 0 {
		alpha = 0.5
	}
	if heat == 0 {
		heat = 2
	}
	switch {
	case e.Err() != nil:
		return nil
	case len(out) == 0 || len(want) != 2:
		e.Failf("distillation: want an output and two targets, the class and the teacher's logits, got %d targets", len(want))
	case !(alpha > 0 && alpha <= 1) || !(heat > 0):
		e.Failf("distillation: Alpha is %v and Temperature %v: want 0 to 1 and a positive number", alpha, heat)
	case l.Hard.Sum || l.Hard.Axis != 0 && l.Hard.Axis != 1:
		e.Failf("distillation: the cross-entropy must be a mean with the classes on axis 1")
	}
	p := lossBuilder{e}
	x := logits(e, "distillation", out[0], 1)
	if e.Err() != nil {
		return nil
	}
	axis := int64(x.Type().Rank() - 1)
	teacher := p.node("LogSoftmax", map[string]any{"axis": axis}, p.times(want[1], 1/heat))
	soft := KL{LogTarget: true}.Build(e, []*nn.Value{p.times(x, 1/heat)}, []*nn.Value{teacher})
	soft = p.times(soft, alpha*heat*heat)
	if alpha == 1 {
		return soft
	}
	return p.do("Add", soft, p.times(l.Hard.Build(e, out[:1], want[:1]), 1-alpha))
}

// Weight implements Weighted.
func (l Distill) Weight(want []*tensor.Dense) (float64, error) { return samples(false, want), nil }

func (l Distill) check(out []*nn.Value, want []*tensor.Dense) error {
	return l.Hard.check(out, want)
}

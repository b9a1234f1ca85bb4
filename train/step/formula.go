package step

import (
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/std"
	"github.com/graft-ml/graft/optim"
)

// formula writes the update of a parameter and its slots: in training_info as a node of ai.onnx.preview.training if there is
// an operator for the rule, otherwise as standard operators.
func (w *writer) formula(b *builder, f optim.Formula, in, grad *nn.Value, slots []optim.Term, rate optim.Term) (optim.Term, []optim.Term, error) {
	if w.stored && w.last == nil {
		if form, ok := f.(optim.StandardRule); ok {
			if s, ok := form.Standard(); ok {
				return w.standard(b, s, in, grad, slots, rate)
			}
		}
	}
	return f.Formula(b, in, grad, slots, rate, w.count)
}

// standard writes a node of ai.onnx.preview.training.
func (w *writer) standard(b *builder, s optim.Standard, in, grad *nn.Value, slots []optim.Term, rate optim.Term) (optim.Term, []optim.Term, error) {
	alpha, beta, eps := float32(s.Alpha), float32(s.Beta), float32(s.Epsilon)
	var c op.Config
	count := w.count
	switch s.Rule {
	case optim.StandardMomentum:
		mode := "standard"
		if s.Nesterov {
			mode = "nesterov"
		}
		c = std.MomentumConfig{Alpha: alpha, Beta: beta, Mode: mode, Norm: float32(s.Decay)}
	case optim.StandardAdagrad:
		c = std.AdagradConfig{Decay: alpha, Epsilon: &eps, Norm: float32(s.Decay)}
	case optim.StandardAdam:
		c = std.AdamConfig{Alpha: &alpha, Beta: &beta, Epsilon: &eps, Norm: float32(s.Decay)}
		count = b.value(b.Add(w.count, b.Number(1)), dtype.Float64) // for bias correction the operator counts from 1
	}
	r := b.cast(b.value(b.Mul(rate, b.Number(s.Rate)), dtype.Float64), dtype.Float32)
	list := []*nn.Value{r, b.cast(count, dtype.Int64), in, grad}
	for _, t := range slots {
		v, _ := t.(*nn.Value)
		list = append(list, v)
	}
	n := b.e.NodeN(c, 1+len(slots), list...)
	var after []optim.Term
	for i := range slots {
		after = append(after, n.Out(1+i))
	}
	return n.Out(0), after, nil
}

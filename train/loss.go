package train

import (
	"errors"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/op"
	"gorgonia.org/tensor"
)

// Loss is a differentiable loss: nodes that compute a scalar from a model's outputs and the targets of a batch.
//
// Build reports errors with e.Fail. The first axis of targets and outputs is the batch axis.
type Loss interface {
	Build(e *nn.Edit, out, want []*nn.Value) *nn.Value
}

// Weighted is a Loss that states the weight of a batch when several batches are combined: the divisor of its mean.
// Other losses are taken for means over samples.
type Weighted interface {
	Loss
	// Weight returns the divisor of the batch's mean: 0 if all samples are ignored, negative if
	// the loss is a sum.
	Weight(want []*tensor.Dense) (float64, error)
}

// checker is a loss that checks the targets before a step.
type checker interface {
	check(out []*nn.Value, want []*tensor.Dense) error
}

// LossFunc is a function as a Loss.
type LossFunc func(e *nn.Edit, out, want []*nn.Value) *nn.Value

// Build implements Loss.
func (f LossFunc) Build(e *nn.Edit, out, want []*nn.Value) *nn.Value {
	if f == nil {
		e.Fail(errors.New("the LossFunc is nil"))
		return nil
	}
	return f(e, out, want)
}

// one returns the first output and the first target, the only ones that most losses use.
func one(e *nn.Edit, loss string, out, want []*nn.Value) (x, y *nn.Value, ok bool) {
	switch {
	case e.Err() != nil:
	case len(out) == 0:
		e.Failf("%s: the model has no output", loss)
	case len(want) == 0:
		e.Failf("%s: the samples have no target", loss)
	case len(want) > 1:
		e.Failf("%s: compares one target with the first output, the samples have %d: write a LossFunc", loss, len(want))
	default:
		return out[0], want[0], true
	}
	return nil, nil, false
}

// paired converts a target for an elementwise comparison with an output: to the output's element type
// and shape. One of them may lack a last axis of size 1.
func paired(e *nn.Edit, loss string, x, y *nn.Value) *nn.Value {
	if e.Err() != nil {
		return nil
	}
	p := lossBuilder{e}
	if y.Type().DType != x.Type().DType {
		y = p.cast(y, x.Type().DType)
	}
	a, b := x.Type(), y.Type()
	if a.Unranked || b.Unranked || e.Err() != nil {
		return y
	}
	last := func(t op.Type) bool { return t.Rank() > 0 && t.Shape[t.Rank()-1].Size == 1 }
	switch {
	case a.Rank() == b.Rank()+1 && last(a):
		y = p.unsqueeze(y, b.Rank())
	case b.Rank() == a.Rank()+1 && last(b):
		y = p.squeeze(y, a.Rank())
	}
	b = y.Type()
	if e.Err() != nil {
		return nil
	}
	fits := a.Rank() == b.Rank()
	for i := 0; fits && i < a.Rank(); i++ {
		fits = !a.Shape[i].Differ(b.Shape[i])
	}
	if !fits {
		e.Failf("%s: the output is %v, the target %v: want one target for each element", loss, a, b)
	}
	return y
}

package prune

import (
	"errors"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/std"
)

// Lasso is a penalty to train with before pruning: Strength · Σ of the L2 norms of the rows of all convolutions and
// matrices. It drives entire channels to zero (group lasso).
type Lasso struct {
	Strength float64       // factor of the penalty
	Sel      []nn.Selector // layers to penalize; nil: all with a weight of rank two or more
}

// Build returns the sum of loss, a scalar, and the penalty.
func (l Lasso) Build(e *nn.Edit, loss *nn.Value) *nn.Value {
	sel := append([]nn.Selector{weighted}, l.Sel...)
	total := loss
	found := false
	for _, n := range e.Nodes(sel...) {
		layer, _ := n.WeightedSum()
		w := n.In(layer.Weight)
		if w == nil || w.Param() == nil || !w.Param().Trainable() {
			continue
		}
		var axes []int
		for i := range w.Type().Rank() {
			if i != layer.Out {
				axes = append(axes, i)
			}
		}
		sq := e.Node(op.Plain("Mul"), w, w).Out(0)
		squares := sum(e, sq, axes)
		// The square root has no finite derivative at zero; a small constant avoids that.
		root := e.Node(op.Plain("Sqrt"), e.Node(op.Plain("Add"), squares, e.Scalar("tiny", w, 1e-12)).Out(0)).Out(0)
		p := e.Node(op.Plain("Mul"), sum(e, root, []int{0}), e.Scalar("strength", w, l.Strength)).Out(0)
		total = e.Node(op.Plain("Add"), total, p).Out(0)
		if found = true; e.Err() != nil {
			return nil
		}
	}
	if !found {
		e.Fail(errors.New("there are no trainable weights to penalize"))
	}
	return total
}

// sum sums over some axes, with the ReduceSum of the graph's opset.
func sum(e *nn.Edit, v *nn.Value, axes []int) *nn.Value {
	drop := false
	return e.Node(std.ReduceSumConfig{KeepDims: &drop}, v, e.Ints("axes", axes...)).Out(0)
}

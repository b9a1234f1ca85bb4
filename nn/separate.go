package nn

import (
	"slices"

	"github.com/graft-ml/graft/internal/engine"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/trait"
	"gorgonia.org/tensor"
)

// Separate gives readers of a vector that was stored once for several parameters a copy each, and returns the number of copies.
// PyTorch exports tensors with equal elements once. In a network that was never trained, the scales and running variances of
// normalizations (ones) are then a single vector, and so are their biases and running means (zeros): they would be trained
// together, or, since running statistics are not trained, not at all.
//
// Copied are floating-point vectors whose elements are all equal: where they are read through Identity under another name, and
// where one node reads a vector as a running statistic that is a weight elsewhere. Frozen parameters and subgraphs are left as they are.
func (e *Edit) Separate() (copies int) {
	e.made()
	for _, p := range e.g.params() {
		if e.err != nil {
			return 0
		}
		if p.frozen || p.role != nil || p.value.typ.Rank() != 1 || !p.value.typ.DType.IsFloat() || len(p.value.users) < 2 || !uniform(p.data) {
			continue
		}
		copies += e.separateAliases(p.value) + e.separateStatistics(p.value)
	}
	return copies
}

// uniform reports whether all elements of a tensor are equal.
func uniform(d *tensor.Dense) bool {
	x, err := dtype.Float64s(d)
	if err != nil {
		return false
	}
	for _, v := range x {
		if v != x[0] {
			return false
		}
	}
	return len(x) > 0
}

// separateAliases makes parameters of values that are equal to the parameter v under another name.
func (e *Edit) separateAliases(v *Value) (copies int) {
	for _, n := range v.readers() {
		if n.op == nil || n.traits().Moves != trait.MovedInOrder || len(n.in) != 1 || len(n.out) != 1 || len(v.users) < 2 || sameType(v, n.out[0]) != nil || slices.Contains(e.g.outputs, n.out[0]) {
			continue
		}
		old := n.out[0]
		name := old.name
		own := e.copyParam(v)
		e.Rewire(old, own)
		e.drop(n)
		if e.err != nil {
			return 0
		}
		e.RenameValue(own, name)
		copies++
	}
	return copies
}

// separateStatistics gives each reader of a parameter a copy if some read it as a running statistic and others as a weight.
func (e *Edit) separateStatistics(v *Value) (copies int) {
	type slot struct {
		n *Node
		i int
	}
	var slots []slot
	states := 0
	for _, n := range v.readers() {
		if n.op == nil {
			return 0
		}
		for i, x := range n.in {
			if x != v {
				continue
			}
			slots = append(slots, slot{n, i})
			if s, _ := op.At(n.op.In.List(), i); s.Role == op.State {
				states++
			}
		}
	}
	if states == 0 || states == len(slots) {
		return 0
	}
	for _, s := range slots[1:] {
		own := e.copyParam(v)
		if e.err != nil {
			return 0
		}
		e.setRead(s.n, s.i, own)
		copies++
	}
	return copies
}

// copyParam adds a parameter with the elements of another one.
func (e *Edit) copyParam(v *Value) *Value {
	d, err := engine.CopyHeld(v.param.data)
	if err != nil {
		e.Failf("a copy of parameter %q: %w", v.name, err)
		return nil
	}
	return e.Const(v.name, d)
}

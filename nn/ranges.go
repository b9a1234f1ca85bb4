package nn

import "github.com/graft-ml/graft/nn/op"

// within is where the elements of v are, by the operators that compute it.
func within(v *Value) op.Interval { return withinDepth(v, 24) }

func withinDepth(v *Value, depth int) op.Interval {
	if v == nil || depth == 0 {
		return op.Anywhere
	}
	if x, ok := scalarIn(v); ok && (v.param == nil || !v.param.Trainable()) {
		return op.Interval{Lo: x, Hi: x}
	}
	n := v.producer
	t := n.traits()
	if t.Range == nil || v.index > 0 && t.Moves == op.NotMoved {
		return op.Anywhere
	}
	return t.Range(n.Call(), func(i int) op.Interval { return withinDepth(n.In(i), depth-1) })
}

// numberIn is scalarIn for an input that may be absent.
func numberIn(v *Value) (float64, bool) {
	if v == nil {
		return 0, false
	}
	return scalarIn(v)
}

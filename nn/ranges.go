package nn

import (
	"github.com/graft-ml/graft/nn/op/trait"
)

// within returns bounds of the elements of v, derived from the operators that compute it.
func within(v *Value) trait.Interval { return withinDepth(v, 24) }

func withinDepth(v *Value, depth int) trait.Interval {
	if v == nil || depth == 0 {
		return trait.Anywhere()
	}
	if x, ok := scalarIn(v); ok && (v.param == nil || !v.param.trainable()) {
		return trait.Interval{Lo: x, Hi: x}
	}
	n := v.producer
	t := n.traits()
	if t.Range == nil || v.index > 0 && t.Moves == trait.NotMoved {
		return trait.Anywhere()
	}
	return t.Range(n.call(), func(i int) trait.Interval { return withinDepth(n.input(i), depth-1) })
}

// numberIn is scalarIn for an input that may be absent.
func numberIn(v *Value) (float64, bool) {
	if v == nil {
		return 0, false
	}
	return scalarIn(v)
}

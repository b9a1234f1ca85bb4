package std

import (
	"slices"

	"github.com/graft-ml/graft/internal/kernel/elementwise"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/epilogue"
)

// actEpilogue returns the epilogue of an operator that applies a to its first input; nil if a is none.
func actEpilogue(c *op.Call, a elementwise.Activation) []op.Pattern {
	if a.Kind == elementwise.ActDefault {
		return nil
	}
	return []op.Pattern{&epilogue.Step{Kind: epilogue.Activate, Slots: []int{0}, DType: c.In[0].DType, Func: a}}
}

// channelEpilogue fills in t for a call whose inputs after the first have a number for each channel.
func channelEpilogue(c *op.Call, t *epilogue.Step) []op.Pattern {
	if len(c.In[0].Shape) < 2 {
		return nil
	}
	t.DType, t.Channels = c.In[0].DType, c.In[0].Shape[1].Size
	for _, x := range c.In[1:] {
		if x.Present() && x.DType != t.DType {
			return nil // computed in one of the types
		}
	}
	return []op.Pattern{t}
}

// operandEpilogue returns the epilogue of a sum or product of two operands; byChannel is its kind where the
// other operand has a number for each channel.
func operandEpilogue(c *op.Call, byChannel epilogue.StepKind) []op.Pattern {
	if d := c.In[0].DType; d != dtype.Float32 && d != dtype.Float64 || !c.Out[0].Static() {
		return nil
	}
	out := op.Sizes(c.Out[0].Shape)
	a, b := operands(c)
	shapes := [2][]int{op.Sizes(a), op.Sizes(b)}
	whole := func(i int) bool { return slices.Equal(shapes[i], out) }
	t := &epilogue.Step{DType: c.In[0].DType}
	switch {
	case whole(0) && whole(1) && byChannel == epilogue.Shift:
		t.Kind, t.Slots = epilogue.Add, []int{0, 1}
		return []op.Pattern{t}
	case whole(0) && perChannel(shapes[1], out):
		t.Slots = []int{0}
	case whole(1) && perChannel(shapes[0], out):
		t.Slots = []int{1}
	default:
		return nil
	}
	t.Kind, t.Channels = byChannel, out[1]
	return []op.Pattern{t}
}

// perChannel reports whether shape, aligned with out from the back, has one number for each channel.
func perChannel(shape, out []int) bool {
	if len(out) < 2 || len(shape) > len(out) || len(shape) < len(out)-1 {
		return false
	}
	for i, n := range shape {
		want := 1
		if i+len(out)-len(shape) == 1 {
			want = out[1]
		}
		if n != want {
			return false
		}
	}
	return true
}

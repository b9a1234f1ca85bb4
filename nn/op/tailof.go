package op

import (
	"slices"

	"github.com/graft-ml/graft/internal/kernel"
	"github.com/graft-ml/graft/nn/dtype"
)

// actTail is the tail of an operator that applies a to its first input; nil if a is none.
func actTail(c *Call, a kernel.Activation) any {
	if a.Kind == kernel.ActDefault {
		return nil
	}
	return &tail{kind: tailAct, slots: []int{0}, dtype: c.In[0].DType, act: a}
}

// viewTail is the tail of an operator that gives its first input another shape.
func viewTail(c *Call) any {
	return &tail{kind: tailView, slots: []int{0}, dtype: c.In[0].DType}
}

// channelTail fills in t for a call whose inputs behind the first have a number for each channel.
func channelTail(c *Call, t *tail) any {
	if len(c.In[0].Shape) < 2 {
		return nil
	}
	t.dtype, t.channels = c.In[0].DType, c.In[0].Shape[1].Size
	for _, x := range c.In[1:] {
		if x.Present() && x.DType != t.dtype {
			return nil // computed in one of the types
		}
	}
	return t
}

// operandTail is the tail of a sum or product of two operands; byChannel is its kind where the
// other operand has a number for each channel.
func operandTail(c *Call, byChannel tailKind) any {
	if d := c.In[0].DType; d != dtype.Float32 && d != dtype.Float64 || !c.Out[0].Static() {
		return nil
	}
	out := sizes(c.Out[0].Shape)
	a, b := operands(c)
	shapes := [2][]int{sizes(a), sizes(b)}
	whole := func(i int) bool { return slices.Equal(shapes[i], out) }
	t := &tail{dtype: c.In[0].DType}
	switch {
	case whole(0) && whole(1) && byChannel == tailShift:
		t.kind, t.slots = tailAdd, []int{0, 1}
		return t
	case whole(0) && perChannel(shapes[1], out):
		t.slots = []int{0}
	case whole(1) && perChannel(shapes[0], out):
		t.slots = []int{1}
	default:
		return nil
	}
	t.kind, t.channels = byChannel, out[1]
	return t
}

// perChannel says whether shape, aligned with out from the back, has one number for each channel.
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

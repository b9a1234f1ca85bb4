package std

import (
	"errors"
	"fmt"
	"slices"

	"github.com/graft-ml/graft/nn/op"
)

// realigned is the configuration of an operator that had its own broadcasting before version 7: only the second
// operand was broadcast, as set by attributes.
type realigned interface {
	legacy
	realign(axis *int, broadcast bool) op.Config
}

func (aligned[N]) realign(axis *int, broadcast bool) op.Config {
	return aligned[N]{Axis: axis, Broadcast: broadcast}
}

// broadcasting returns the step over version 7 of these operators.
func broadcasting() op.Version { return op.Version{At: 7, Up: broadcastUp, Down: broadcastDown} }

// broadcastUp appends axes of length 1 to the second operand, so that its axes are aligned with those of the attribute.
func broadcastUp(n *op.Spelling) error {
	c := n.Config.(realigned)
	axis, broadcast := c.alignment()
	n.Config = c.realign(nil, false)
	if axis == nil || !broadcast {
		return nil
	}
	a, err := n.Rank(0)
	if err != nil {
		return err
	}
	b, err := n.Rank(1)
	if err != nil {
		return err
	}
	from := *axis
	if from < 0 {
		from += a
	}
	var last []int
	for i := from + b; i < a; i++ {
		last = append(last, b+len(last))
	}
	if last != nil {
		n.Put(1, n.Before("operand", UnsqueezeConfig{}, n.In[1], n.Vector("axes", last...)))
	}
	return nil
}

func broadcastDown(n *op.Spelling) error {
	a, err := n.Sizes(0)
	if err != nil {
		return equalShapes(n)
	}
	b, err := n.Sizes(1)
	if err != nil {
		return err
	}
	if slices.Equal(a, b) {
		return nil
	}
	if len(b) > len(a) || !slices.Equal(a[len(a)-len(b):], b) && !slices.Equal(b, []int{1}) {
		return fmt.Errorf("that version does not broadcast shapes %v and %v", a, b)
	}
	n.Config = n.Config.(realigned).realign(nil, true)
	return nil
}

// equalShapes refuses inputs that may differ in shape, of an operator that did not broadcast.
func equalShapes(n *op.Spelling) error {
	for i := range n.In {
		if !n.Has(i) || !n.Has(0) || !sameShapes(n.In[0].Type, n.In[i].Type) {
			return errors.New("its inputs may differ in shape, and in that version they must not")
		}
	}
	return nil
}

func sameShapes(a, b op.Type) bool {
	return !b.Unranked && a.String() == b.String() && !slices.ContainsFunc(b.Shape, func(d op.Dim) bool { return !d.Known() && d.Sym == "" })
}

// oneType: before version 12 both operands have the same type.
func oneType(n *op.Spelling) error {
	if a, b := n.DType(0), n.DType(1); a != b {
		return fmt.Errorf("that version takes inputs of one type, not %v and %v", a, b)
	}
	return nil
}

// oneOutput refuses a node with several outputs, whose meaning has changed.
func oneOutput(n *op.Spelling) error {
	for i := range n.Out {
		if i > 0 && n.Wants(i) {
			return fmt.Errorf("output %s is a different one in that version", n.SlotName(func(o *op.Op) op.Slots { return o.Out }, i))
		}
	}
	n.Out = n.Out[:1]
	return nil
}

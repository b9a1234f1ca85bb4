package nn

import (
	"errors"
	"fmt"
	"slices"

	"github.com/graft-ml/graft/internal/budget"
	"github.com/graft-ml/graft/internal/engine"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/coupling"
	"gorgonia.org/tensor"
)

// SetInputChannels changes the number of channels of a graph input, for example to use grayscale images, or images with
// more bands, with a model for RGB. The layers that sum over the channels keep their weights. With one channel instead
// of several, the slices of their kernels are summed, so that a grayscale image gives the same result as with equal
// channels; with more channels than before, slices are repeated and scaled by old/new. Parameters with one element per
// channel in between are averaged or repeated. axis is the axis of the channels; 0 means the usual one: axis 1, or the
// last one of images in which axis 1 is longer.
func (e *Edit) SetInputChannels(v *Value, channels, axis int) {
	if !e.mine(v) {
		return
	}
	e.place = append(e.place, "SetInputChannels")
	defer func() { e.place = e.place[:len(e.place)-1] }()
	if err := e.setInputChannels(v, channels, axis); err != nil {
		e.fail(err)
	}
}

func (e *Edit) setInputChannels(v *Value, channels, axis int) error {
	t := v.typ
	if !v.input || t.Kind != op.Tensor || t.Unranked || len(t.Shape) < 2 {
		return fmt.Errorf("value %q is not an input with channels", v.name)
	}
	if axis == 0 {
		axis = 1
		if last := len(t.Shape) - 1; len(t.Shape) == 4 && t.Shape[last].Known() && (!t.Shape[1].Known() || t.Shape[1].Size > t.Shape[last].Size) {
			axis = last
		}
	}
	if axis < 0 || axis >= len(t.Shape) {
		return fmt.Errorf("input %s has %d axes: there is no axis %d", v.name, len(t.Shape), axis)
	}
	old := t.Shape[axis]
	if !old.Known() || channels < 1 {
		return fmt.Errorf("input %s: axis %d is %v and the new number of channels %d: both must be 1 or more", v.name, axis, old, channels)
	}
	if old.Size == channels {
		return nil
	}
	c := inputChannels{e: e, old: old.Size, now: channels, changed: map[*Param]bool{}}
	if err := c.follow(v, axis); err != nil {
		return err
	}
	now := slices.Clone(t.Shape)
	now[axis] = op.D(channels)
	e.retype(v, op.T(t.DType, now...))
	e.Note("channels of input %s: %d → %d", v.name, old.Size, channels)
	return nil
}

// inputChannels walks from an input to the layers that sum over its channels.
type inputChannels struct {
	e        *Edit
	old, now int
	changed  map[*Param]bool
	seen     map[*Value]int
}

// follow adapts the readers of a value's axis.
func (c *inputChannels) follow(v *Value, axis int) error {
	if c.seen[v] > 0 {
		return nil
	}
	if c.seen == nil {
		c.seen = map[*Value]int{}
	}
	c.seen[v] = axis + 1
	if slices.Contains(c.e.g.outputs, v) {
		return fmt.Errorf("the channels of the input are also those of output %s, which would change", v.name)
	}
	for _, u := range slices.Clone(v.users) {
		if err := c.node(u, v, axis); err != nil {
			return &Error{Op: u.opType, Node: u.label(), Err: err}
		}
	}
	return nil
}

var errChannelUse = errors.New("the channels of the input are used in a way that cannot follow a change of their number")

// node adapts the parameters of a node that reads v, and continues with its outputs.
func (c *inputChannels) node(n *Node, v *Value, axis int) error {
	call := n.call()
	if call == nil || n.op.Couple == nil {
		return errChannelUse
	}
	reads := n.reads()
	var at []coupling.Axis // axes of the call that are indexed by channel
	for i, x := range reads {
		if x == v {
			at = append(at, coupling.In(i, axis))
		}
	}
	// couplings connect inputs through the output: x with y, y with the scales
	list := n.op.Couple(call)
	for again := true; again; {
		again = false
		for _, k := range list {
			from, to := slices.Contains(at, k.From), slices.Contains(at, k.To)
			if from == to {
				continue
			}
			if k.Map.Relation != coupling.Identity {
				return errChannelUse
			}
			other := k.To
			if to {
				other = k.From
			}
			at = append(at, other)
			again = true
		}
	}
	summed := map[int]int{}
	if n.op.Traits.WeightedSums != nil {
		for _, l := range n.op.Traits.WeightedSums(call) {
			if l.Groups <= 1 {
				summed[l.Weight] = l.In
			}
		}
	}
	found := false
	for _, r := range at {
		if r.Output {
			found = true
			if err := c.follow(n.output(r.Slot), r.Axis); err != nil {
				return err
			}
			continue
		}
		x := reads[r.Slot]
		if x == v {
			continue
		}
		found = true
		in, isWeight := summed[r.Slot]
		if err := c.parameter(n, r.Slot, r.Axis, isWeight && in == r.Axis); err != nil {
			return err
		}
	}
	if !found {
		return errChannelUse
	}
	return nil
}

// parameter resizes an input of a node to the new number of channels.
func (c *inputChannels) parameter(n *Node, slot, axis int, sum bool) error {
	x := n.reads()[slot]
	if x.param == nil && c.seen[x] == axis+1 {
		return nil // the edge to the input itself
	}
	d, ok := x.current().Value.(*tensor.Dense)
	if x.param != nil {
		d, ok = x.param.data, x.param.data != nil
	}
	if !ok {
		return fmt.Errorf("%q, which has an element for each channel of the input, is not a parameter", x.name)
	}
	if x.param != nil && c.changed[x.param] {
		return nil
	}
	next, err := c.slices(d, axis, sum)
	if err != nil {
		return err
	}
	if x.param == nil {
		w := c.e.Const(x.name+"_channels", next)
		c.e.swapInput(n, slot, w, w.id())
		return c.e.err
	}
	c.changed[x.param] = true
	c.e.SetData(x, next)
	return c.e.err
}

// slices returns the slices of d along an axis for the new channels. sum: they are summed over;
// otherwise each belongs to one channel.
func (c *inputChannels) slices(d *tensor.Dense, axis int, sum bool) (*tensor.Dense, error) {
	shape := d.Shape()
	if shape[axis] != c.old {
		return nil, fmt.Errorf("axis %d is %d, the input has %d channels", axis, shape[axis], c.old)
	}
	wide, err := engine.Convert(dtype.Float64, d)
	if err != nil {
		return nil, err
	}
	x := dtype.Slice[float64](wide)
	outer, inner := 1, 1
	for i, n := range shape {
		if i < axis {
			outer *= n
		} else if i > axis {
			inner *= n
		}
	}
	if err := engine.Fits(float64(outer) * float64(c.now) * float64(inner) * 16); err != nil {
		return nil, fmt.Errorf("%d instead of %d channels: %w", c.now, c.old, err)
	}
	times := make([]float64, min(c.old, c.now)) // for each channel of the side with fewer, the number of the other side's channels that correspond to it
	for k := range max(c.old, c.now) {
		times[k%len(times)]++
	}
	now := slices.Clone(shape)
	now[axis] = c.now
	all, err := budget.Made(8*int64(outer*c.now*inner), func() *tensor.Dense { return dtype.New(dtype.Float64, now...) })
	if err != nil {
		return nil, err
	}
	out := dtype.Slice[float64](all)
	for o := range outer {
		for k := range max(c.old, c.now) {
			scale := 1.0
			if sum == (c.now > c.old) { // divided when repeated, averaged when not summed over
				scale = 1 / times[k%len(times)]
			}
			for i := range inner {
				out[(o*c.now+k%c.now)*inner+i] += scale * x[(o*c.old+k%c.old)*inner+i]
			}
		}
	}
	return engine.Convert(dtype.Of(d.Dtype()), all)
}

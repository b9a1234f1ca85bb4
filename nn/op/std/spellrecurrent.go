package std

import (
	"slices"

	"github.com/graft-ml/graft/nn/op"
)

// The recurrent operators as training computes them, and their gradient. The forward pass keeps, for the gradient,
// what each step of a direction computed, [dirs, seq, batch, parts·hidden]: the gates, states and, with clipping, the
// inputs of the gates.

// recurrence is one direction of a recurrent operator while it is written out, with layout 0.
type recurrence struct {
	n formula
	cell
	d      int         // direction
	w, r   *op.Operand // [gates·hidden, input] and [gates·hidden, hidden]
	bw, br *op.Operand // biases, [gates·hidden]; nil: none
	p      *op.Operand // peepholes [3·hidden], or nil
	h0, c0 *op.Operand // [batch, hidden]
	x      *op.Operand // [seq, batch, input]
	mask   *op.Operand // [seq, batch, 1], whether the sequence lasts as long; nil: all do
}

// recurrent splits an operator into its operands; arguments are by index among X, W, R, B, lens, h0, c0, P.
func (n formula) recurrent(r cell, in []*op.Operand) []*recurrence {
	arg := make([]*op.Operand, 8)
	copy(arg, in)
	x := n.sequenceFirst(r, arg[0])
	time := 0
	if r.BatchFirst {
		time = 1
	}
	mask := n.lasting(arg[4], time)
	var list []*recurrence
	for d := range r.Dirs {
		c := &recurrence{n: n, cell: r, d: d, x: x, mask: mask}
		c.w, c.r, c.h0, c.c0, c.p = c.own(arg[1]), c.own(arg[2]), c.state(arg[5]), c.state(arg[6]), c.own(arg[7])
		if b := c.own(arg[3]); b != nil {
			g := r.Gates * r.Hidden
			c.bw, c.br = n.cutLast(b, 0, g), n.cutLast(b, g, 2*g)
		}
		if c.h0 == nil {
			c.h0 = c.zeros()
		}
		if c.c0 == nil {
			c.c0 = c.zeros()
		}
		list = append(list, c)
	}
	return list
}

// own returns the part of a tensor for the direction, nil if the tensor is absent.
func (c *recurrence) own(x *op.Operand) *op.Operand { return c.n.pick(x, 0, c.d) }

// state is own of a first or last state, [dirs, batch, hidden], or with layout 1 [batch, dirs, hidden].
func (c *recurrence) state(x *op.Operand) *op.Operand {
	if c.BatchFirst {
		return c.n.pick(x, 1, c.d)
	}
	return c.own(x)
}

// zeros returns a state of zeros.
func (c *recurrence) zeros() *op.Operand {
	r := c.cell
	return c.n.zeros(c.x.Type.DType, c.n.ShapeOf(func(call *op.Call) []op.Dim {
		batch := 1
		if r.BatchFirst {
			batch = 0
		}
		return []op.Dim{call.In[0].Shape[batch], op.D(r.Hidden)}
	}))
}

func (n formula) pick(x *op.Operand, axis, i int) *op.Operand {
	if x == nil {
		return nil
	}
	return n.do(GatherConfig{Axis: axis}, x, n.index(i))
}

// sequenceFirst exchanges the first axes of X or of a stack of states with layout 1.
func (n formula) sequenceFirst(r cell, x *op.Operand) *op.Operand {
	if x == nil || !r.BatchFirst {
		return x
	}
	return n.transpose(x, 1, 0, 2)
}

// lasting returns whether each sequence is active at each time, nil if there are no lengths.
func (n formula) lasting(lens *op.Operand, time int) *op.Operand {
	if lens == nil {
		return nil
	}
	size := n.ShapeOf(func(c *op.Call) []op.Dim { return c.In[0].Shape[time : time+1] })
	times := n.do(op.Plain("Range"), n.index(0), n.reshape(size), n.index(1))
	return n.unsqueeze(n.less(n.unsqueeze(times, 1), n.unsqueeze(n.do(CastConfig{To: times64}, lens), 0)), 2)
}

// index returns a constant index of rank 0.
func (n formula) index(i int) *op.Operand {
	v := n.word(uint64(i))
	v.Name = "index"
	return v
}

// cutLast returns a range of the last axis.
func (n formula) cutLast(x *op.Operand, lo, hi int) *op.Operand {
	return n.do(SliceConfig{}, x, n.Vector("starts", lo), n.Vector("ends", hi), n.Vector("axes", -1))
}

// stacked stacks tensors along a new leading axis.
func (n formula) stacked(list []*op.Operand) *op.Operand {
	parts := make([]*op.Operand, len(list))
	for i, x := range list {
		parts[i] = n.unsqueeze(x, 0)
	}
	return n.concat(0, parts...)
}

// timeStep is one step in time: from the states and slices of sequences it computes the next states
// and the values to stack. at returns the placeholder of a captured value.
type timeStep func(n formula, states, slices []*op.Operand, at func(*op.Operand) *op.Operand) (next, out []*op.Operand)

// overTime returns a Scan that takes steps in the direction's order, or backward, over sequences, of which some may be absent.
func (c *recurrence) overTime(back bool, states, sequences, captured []*op.Operand, f timeStep) (last, stacked []*op.Operand) {
	back = back != c.Reverse[c.d]
	absent := func(x *op.Operand) bool { return x == nil }
	captured = slices.DeleteFunc(captured, absent)
	there := slices.DeleteFunc(slices.Clone(sequences), absent)
	all := func(given []*op.Operand) []*op.Operand { // with nil for those that are absent
		list := make([]*op.Operand, len(sequences))
		for i, x := range sequences {
			if x != nil {
				list[i], given = given[0], given[1:]
			}
		}
		return list
	}
	return c.n.Scan(back, states, there, captured, func(in *op.Spelling, states, given, inside []*op.Operand) (next, out []*op.Operand) {
		at := map[*op.Operand]*op.Operand{}
		for i, x := range captured {
			at[x] = inside[i]
		}
		return f(formula{in}, states, all(given), func(x *op.Operand) *op.Operand { return at[x] })
	})
}

// exposeRecurrent computes the steps and keeps the values that the gradient needs.
func exposeRecurrent(n formula) error {
	r, err := sized(n.Call)
	if err != nil {
		return err
	}
	var y, last, cells, kept []*op.Operand
	for _, c := range n.recurrent(r, n.In) {
		states, out := c.forward()
		y, kept, last = append(y, n.unsqueeze(out[0], 1)), append(kept, out[1]), append(last, states[0])
		if r.Kind == "LSTM" {
			cells = append(cells, states[1])
		}
	}
	give := func(i int, list []*op.Operand, axis func([]*op.Operand) *op.Operand, perm ...int) {
		if !n.Wants(i) || len(list) == 0 {
			return
		}
		v := axis(list)
		if r.BatchFirst {
			v = n.transpose(v, perm...)
		}
		n.Give(i, v)
	}
	give(0, y, func(list []*op.Operand) *op.Operand { return n.concat(1, list...) }, 2, 0, 1, 3)
	give(1, last, n.stacked, 1, 0, 2)
	give(2, cells, n.stacked, 1, 0, 2)
	n.Give(len(n.Call.Op.Out.List()), n.stacked(kept))
	return nil
}

package std

import (
	"slices"

	"github.com/graft-ml/graft/nn/op"
)

// spellRecurrentGrad goes back through the steps; the products with inputs and weights are made for all steps at once.
func spellRecurrentGrad(n formula) error {
	r := n.Config.(cell)
	get := func(i int) *op.Operand {
		if n.Has(i) {
			return n.In[i]
		}
		return nil
	}
	var dx *op.Operand
	grads := make([][]*op.Operand, 7) // by output, then by direction
	dy := get(9)
	if dy != nil && r.BatchFirst {
		dy = n.transpose(dy, 1, 2, 0, 3)
	}
	for d, c := range n.recurrent(r, []*op.Operand{n.In[0], n.In[1], n.In[2], get(4), get(5), get(6), get(7), get(8)}) {
		g := c.backward(n.pick(n.In[3], 0, d), n.pick(dy, 1, d), c.state(get(10)), c.state(get(11)))
		x := n.do(op.Plain("MatMul"), g.byInput, c.w)
		if dx == nil {
			dx = x
		} else {
			dx = n.add(dx, x)
		}
		rows := r.Gates * r.Hidden
		in, rec := n.reshape(g.byInput, -1, rows), n.reshape(g.byState, -1, rows)
		for i, v := range []*op.Operand{
			1: n.do(op.Plain("MatMul"), n.transpose(in, 1, 0), n.reshape(c.x, -1, r.Input)),
			2: c.stateWeights(rec, g.states),
			3: n.concat(0, n.sum(in, false, 0), n.sum(rec, false, 0)),
			4: g.h0, 5: g.c0, 6: g.peeps,
		} {
			if v != nil {
				grads[i] = append(grads[i], v)
			}
		}
	}
	if n.Wants(0) {
		n.Give(0, n.do(op.Plain("Identity"), n.sequenceFirst(r, dx)))
	}
	for i, list := range grads {
		if !n.Wants(i) || len(list) == 0 {
			continue
		}
		v := n.stacked(list)
		if r.BatchFirst && (i == 4 || i == 5) {
			v = n.transpose(v, 1, 0, 2)
		}
		n.Give(i, v)
	}
	return nil
}

// recurrentGrads are gradients of one direction: [seq, batch, gates·hidden] with respect to the
// contributions of inputs and states to the gates.
type recurrentGrads struct {
	byInput, byState *op.Operand
	states           []*op.Operand // the factors of each gate's weights, [seq, batch, hidden]
	h0, c0, peeps    *op.Operand
}

// stateWeights returns the gradient of R.
func (c *recurrence) stateWeights(rec *op.Operand, states []*op.Operand) *op.Operand {
	n, parts := c.n, []*op.Operand(nil)
	for i, s := range states {
		g := rec
		if len(states) > 1 {
			g = c.part(n, rec, i)
		}
		parts = append(parts, n.do(op.Plain("MatMul"), n.transpose(g, 1, 0), n.reshape(s, -1, c.Hidden)))
	}
	if len(parts) == 1 {
		return parts[0]
	}
	return n.concat(0, parts...)
}

// goingBack is one step backward in time: from the gradients of the states after it (including the
// output's) to those before it and to those of the gate inputs, by inputs and by states. kept returns
// part i of what the step kept.
type goingBack func(n formula, d []*op.Operand, kept func(i int) *op.Operand, at func(*op.Operand) *op.Operand) (before []*op.Operand, byInput, byState *op.Operand)

// backward goes back through the steps from the gradients of Y, of the last state and of the last cell.
func (c *recurrence) backward(kept, dy, dh, dc *op.Operand) recurrentGrads {
	n := c.n
	orZeros := func(x *op.Operand) *op.Operand {
		if x == nil {
			return c.zeros()
		}
		return x
	}
	states := []*op.Operand{orZeros(dh)}
	stack := func(i int) *op.Operand { return c.part(n, kept, i) }
	var g recurrentGrads
	var captured []*op.Operand
	var f goingBack
	switch {
	case c.Kind == "LSTM":
		states = append(states, orZeros(dc))
		f, captured = c.lstmBack()
		g.states = []*op.Operand{stack(6)}
	case c.Kind == "GRU" && c.LinearBeforeReset:
		f, captured = c.linearGRUBack()
		g.states = []*op.Operand{stack(3)}
	case c.Kind == "GRU":
		f, captured = c.gruBack()
		g.states = []*op.Operand{stack(3), stack(3), n.mul(stack(1), stack(3))}
	default:
		f, captured = c.rnnBack()
		g.states = []*op.Operand{stack(1)}
	}
	first, out := c.overTime(true, states, []*op.Operand{kept, dy, c.mask}, captured, func(n formula, d, slice []*op.Operand, at func(*op.Operand) *op.Operand) (next, out []*op.Operand) {
		after := slices.Clone(d)
		if slice[1] != nil {
			after[0] = n.add(d[0], slice[1])
		}
		next, byInput, byState := f(n, after, func(i int) *op.Operand { return c.part(n, slice[0], i) }, at)
		if mask := slice[2]; mask != nil {
			zero := n.num(byInput, 0)
			byInput, byState = n.where(mask, byInput, zero), n.where(mask, byState, zero)
			for i := range next {
				next[i] = n.where(mask, next[i], d[i])
			}
		}
		if !c.LinearBeforeReset {
			return next, []*op.Operand{byInput}
		}
		return next, []*op.Operand{byInput, byState}
	})
	g.byInput, g.byState, g.h0 = out[0], out[len(out)-1], first[0]
	if c.Kind == "LSTM" {
		g.c0 = first[1]
		if c.p != nil {
			g.peeps = c.peepholes(stack, g.byInput)
		}
	}
	return g
}

// peepholes returns the gradient of P from what all steps kept.
func (c *recurrence) peepholes(kept func(i int) *op.Operand, gates *op.Operand) *op.Operand {
	n := c.n
	before := kept(5)
	after := n.add(n.mul(kept(2), before), n.mul(kept(0), kept(3)))
	parts := n.concat(2, n.mul(c.part(n, gates, 0), before), n.mul(c.part(n, gates, 1), after), n.mul(c.part(n, gates, 2), before))
	return n.sum(parts, false, 0, 1)
}

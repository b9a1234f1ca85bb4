package std

import (
	"slices"

	"github.com/graft-ml/graft/internal/kernel/elementwise"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
)

// One step of LSTM, GRU and RNN, forward.

const times64 = dtype.Int64

// part returns the i-th block of hidden columns.
func (c *recurrence) part(n formula, x *op.Operand, i int) *op.Operand {
	return n.cutLast(x, i*c.Hidden, (i+1)*c.Hidden)
}

// gate is activation k of x, which is clipped first. pre is the clipped x, nil without clipping.
func (c *recurrence) gate(n formula, k int, x *op.Operand) (y, pre *op.Operand) {
	if c.Clip > 0 {
		x = n.do(ClipConfig{}, x, n.num(x, -c.Clip), n.num(x, c.Clip))
		pre = x
	}
	return n.activation(c.act(k), x), pre
}

// act is activation k of the direction.
func (c *recurrence) act(k int) elementwise.Activation {
	a := c.Act[c.d][k]
	switch {
	case a.Kind != elementwise.ActDefault:
	case k == 0 && c.Kind != "RNN":
		a.Kind = elementwise.ActSigmoid
	default:
		a.Kind = elementwise.ActTanh
	}
	return a
}

// forward computes all steps. It returns the last states, followed by the stacked outputs and kept values.
func (c *recurrence) forward() (last, stacked []*op.Operand) {
	n := c.n
	all := n.do(op.Plain("MatMul"), c.x, n.transpose(c.w, 1, 0))
	if c.bw != nil {
		all = n.add(all, c.bw)
	}
	inner := c.Kind == "GRU" && c.LinearBeforeReset // the reset gate multiplies a part of the bias
	if c.br != nil && !inner {
		all = n.add(all, c.br)
	}
	turned := n.transpose(c.r, 1, 0)
	states, captured := []*op.Operand{c.h0}, []*op.Operand{turned}
	var f func(n formula, x *op.Operand, states []*op.Operand, at func(*op.Operand) *op.Operand) (next, kept []*op.Operand)
	switch {
	case c.Kind == "LSTM":
		var peeps [3]*op.Operand
		if c.p != nil {
			for i := range peeps {
				peeps[i] = c.part(n, c.p, i)
			}
		}
		states, captured = append(states, c.c0), append(captured, peeps[:]...)
		if c.Rounded && c.mask != nil {
			states = append(states, c.h0) // 0 after the ends, where the states keep what they were
		}
		f = c.lstm(turned, peeps)
	case inner:
		captured = append(captured, c.br)
		f = c.linearGRU(turned)
	case c.Kind == "GRU":
		gates, hat := n.cutLast(turned, 0, 2*c.Hidden), c.part(n, turned, 2)
		captured = []*op.Operand{gates, hat}
		f = c.gru(gates, hat)
	default:
		f = func(n formula, x *op.Operand, states []*op.Operand, at func(*op.Operand) *op.Operand) (next, kept []*op.Operand) {
			y, pre := c.gate(n, 0, n.add(x, n.do(op.Plain("MatMul"), states[0], at(turned))))
			return []*op.Operand{y}, []*op.Operand{y, states[0], pre}
		}
	}
	return c.overTime(false, states, []*op.Operand{all, c.mask}, captured, func(n formula, states, slice []*op.Operand, at func(*op.Operand) *op.Operand) (next, out []*op.Operand) {
		next, kept := f(n, slice[0], states, at)
		y, mask := next[0], slice[1]
		if mask != nil {
			y = n.where(mask, y, n.num(y, 0))
			for i := range next {
				next[i] = n.where(mask, next[i], states[i])
			}
			if len(states) > len(next) {
				next = append(next, n.do(op.Plain("Identity"), y))
			}
		} else {
			y = n.do(op.Plain("Identity"), y)
		}
		kept = slices.DeleteFunc(kept, func(x *op.Operand) bool { return x == nil })
		return next, []*op.Operand{y, n.concat(1, kept...)}
	})
}

func (c *recurrence) lstm(turned *op.Operand, peeps [3]*op.Operand) func(formula, *op.Operand, []*op.Operand, func(*op.Operand) *op.Operand) (next, kept []*op.Operand) {
	return func(n formula, x *op.Operand, states []*op.Operand, at func(*op.Operand) *op.Operand) (next, kept []*op.Operand) {
		h, last := states[0], states[1]
		if len(states) > 2 {
			h = states[2]
		}
		if c.Rounded {
			q := n.BeforeN("", 3, op.Plain("DynamicQuantizeLinear"), h)
			h = n.do(DequantizeLinearConfig{}, q...)
		}
		a := n.add(x, n.do(op.Plain("MatMul"), h, at(turned)))
		in := func(i, peep int, state *op.Operand) *op.Operand {
			v := c.part(n, a, i)
			if peep >= 0 && peeps[peep] != nil {
				v = n.add(v, n.mul(at(peeps[peep]), state))
			}
			return v
		}
		i, preI := c.gate(n, 0, in(0, 0, last))
		f, preF := c.gate(n, 0, in(2, 2, last))
		if c.InputForget {
			f = n.rsub(1, i)
		}
		g, preG := c.gate(n, 1, in(3, -1, nil))
		state := n.add(n.mul(f, last), n.mul(i, g))
		o, preO := c.gate(n, 0, in(1, 1, state))
		tc := n.activation(c.act(2), state)
		return []*op.Operand{n.mul(o, tc), state}, []*op.Operand{i, o, f, g, tc, last, h, preI, preO, preF, preG}
	}
}

func (c *recurrence) gru(gates, hidden *op.Operand) func(formula, *op.Operand, []*op.Operand, func(*op.Operand) *op.Operand) (next, kept []*op.Operand) {
	return func(n formula, x *op.Operand, states []*op.Operand, at func(*op.Operand) *op.Operand) (next, kept []*op.Operand) {
		h := states[0]
		a, pre := c.gate(n, 0, n.add(n.cutLast(x, 0, 2*c.Hidden), n.do(op.Plain("MatMul"), h, at(gates))))
		z, r := c.part(n, a, 0), c.part(n, a, 1)
		hat, preHat := c.gate(n, 1, n.add(c.part(n, x, 2), n.do(op.Plain("MatMul"), n.mul(r, h), at(hidden))))
		return []*op.Operand{n.add(n.mul(n.rsub(1, z), hat), n.mul(z, h))}, []*op.Operand{a, hat, h, pre, preHat}
	}
}

// linearGRU is gru if the reset gate multiplies the product, which is kept before the gate inputs.
func (c *recurrence) linearGRU(turned *op.Operand) func(formula, *op.Operand, []*op.Operand, func(*op.Operand) *op.Operand) (next, kept []*op.Operand) {
	return func(n formula, x *op.Operand, states []*op.Operand, at func(*op.Operand) *op.Operand) (next, kept []*op.Operand) {
		h := states[0]
		sum := n.do(op.Plain("MatMul"), h, at(turned))
		if c.br != nil {
			sum = n.add(sum, at(c.br))
		}
		a, pre := c.gate(n, 0, n.add(n.cutLast(x, 0, 2*c.Hidden), n.cutLast(sum, 0, 2*c.Hidden)))
		z, r, linear := c.part(n, a, 0), c.part(n, a, 1), c.part(n, sum, 2)
		hat, preHat := c.gate(n, 1, n.add(c.part(n, x, 2), n.mul(r, linear)))
		return []*op.Operand{n.add(n.mul(n.rsub(1, z), hat), n.mul(z, h))}, []*op.Operand{a, hat, h, linear, pre, preHat}
	}
}

package std

import (
	"github.com/graft-ml/graft/nn/op"
	"slices"
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
	dirs, err := n.recurrent(r, []*op.Operand{n.In[0], n.In[1], n.In[2], get(4), get(5), get(6), get(7), get(8)})
	if err != nil {
		return err
	}
	var dx *op.Operand
	var dw, dr, db, dh0, dc0 []*op.Operand
	for d, c := range dirs {
		part := func(i int) *op.Operand { // of the gradient of a last state
			if x := get(i); x != nil {
				return n.do(GatherConfig{}, x, n.index(d))
			}
			return nil
		}
		kept := n.do(GatherConfig{}, n.In[3], n.index(d))
		for t := range c.kept {
			c.kept[t] = n.do(GatherConfig{}, kept, n.index(t))
		}
		g := c.backward(get(9), part(10), part(11))
		x := c.times(g.byInput, c.w, false)
		if dx == nil {
			dx = x
		} else {
			dx = n.add(dx, x)
		}
		flat := func(v *op.Operand, cols int) *op.Operand { return n.reshape(v, -1, cols) }
		rows := r.Gates * r.Hidden
		in, rec := flat(g.byInput, rows), flat(g.byState, rows)
		dw = append(dw, n.do(op.Plain("MatMul"), n.transpose(in, 1, 0), flat(c.x, r.Input)))
		dr = append(dr, c.stateWeights(rec, g.states))
		db = append(db, n.concat(0, n.sum(in, false, 0), n.sum(rec, false, 0)))
		dh0, dc0 = append(dh0, g.h0), append(dc0, g.c0)
	}
	n.Give(0, dx)
	for i, list := range [][]*op.Operand{1: dw, 2: dr, 3: db, 4: dh0, 5: dc0} {
		if i > 0 && n.Wants(i) && list[0] != nil {
			n.Give(i, n.stacked(list))
		}
	}
	return nil
}

// recurrentGrads are gradients of one direction: [seq, batch, gates·hidden] of what inputs and states add to the gates.
type recurrentGrads struct {
	byInput, byState *op.Operand
	states           []*op.Operand // what the weights of each gate multiply, [seq, batch, hidden]
	h0, c0           *op.Operand
}

// stateWeights is the gradient of R.
func (c *recurrence) stateWeights(rec *op.Operand, states []*op.Operand) *op.Operand {
	n, parts := c.n, []*op.Operand(nil)
	for i, s := range states {
		g := rec
		if len(states) > 1 {
			g = c.partOf(rec, i)
		}
		parts = append(parts, n.do(op.Plain("MatMul"), n.transpose(g, 1, 0), n.reshape(s, -1, c.cell.Hidden)))
	}
	if len(parts) == 1 {
		return parts[0]
	}
	return n.concat(0, parts...)
}

// backward goes back through the steps from the gradients of Y, of the last state and of the last cell.
func (c *recurrence) backward(dy, dh, dc *op.Operand) recurrentGrads {
	n := c.n
	one := func(a *op.Operand) *op.Operand { return n.mul(a, n.rsub(1, a)) } // slope of a sigmoid
	plus := func(a, b *op.Operand) *op.Operand {
		if a == nil || b == nil {
			if a == nil {
				a = b
			}
			return a
		}
		return n.add(a, b)
	}
	if dy != nil {
		dy = n.do(GatherConfig{Axis: 1}, dy, n.index(c.d))
	}
	zero := n.mul(c.h0, n.num(c.h0, 0))
	if dc == nil && c.cell.Kind == "LSTM" {
		dc = zero
	}
	byInput, byState := make([]*op.Operand, c.cell.Seq), make([]*op.Operand, c.cell.Seq)
	before := make([]*op.Operand, c.cell.Seq) // the state before each step
	reset := make([]*op.Operand, c.cell.Seq)  // the same after the reset gate
	for _, t := range slices.Backward(c.steps) {
		if dy != nil {
			dh = plus(dh, n.do(GatherConfig{}, dy, n.index(t)))
		}
		if dh == nil {
			dh = zero
		}
		part := func(i int) *op.Operand { return c.partOf(c.kept[t], i) }
		switch c.cell.Kind {
		case "LSTM":
			i, o, f, g, tc, last := part(0), part(1), part(2), part(3), part(4), part(5)
			before[t] = part(6)
			dc = n.add(dc, n.mul(n.mul(dh, o), n.rsub(1, n.square(tc))))
			byInput[t] = n.concat(1, n.mul(n.mul(dc, g), one(i)), n.mul(n.mul(dh, tc), one(o)), n.mul(n.mul(dc, last), one(f)), n.mul(n.mul(dc, i), n.rsub(1, n.square(g))))
			byState[t] = byInput[t]
			dc = n.mul(dc, f)
			dh = c.times(byInput[t], c.r, false)
		case "GRU":
			z, r, hat, h := part(0), part(1), part(2), part(3)
			before[t] = h
			dz := n.mul(n.mul(dh, n.sub(h, hat)), one(z))
			dhat := n.mul(n.mul(dh, n.rsub(1, z)), n.rsub(1, n.square(hat)))
			keep := n.mul(dh, z)
			size := c.cell.Hidden
			rows := func(lo, hi int) *op.Operand {
				return n.do(SliceConfig{}, c.r, n.Vector("starts", lo), n.Vector("ends", hi), n.Vector("axes", 0))
			}
			if c.cell.LinearBeforeReset {
				dr := n.mul(n.mul(dhat, part(4)), one(r))
				byInput[t], byState[t] = n.concat(1, dz, dr, dhat), n.concat(1, dz, dr, n.mul(dhat, r))
				dh = n.add(keep, c.times(byState[t], c.r, false))
				break
			}
			dreset := n.do(op.Plain("MatMul"), dhat, rows(2*size, 3*size))
			dr := n.mul(n.mul(dreset, h), one(r))
			byInput[t] = n.concat(1, dz, dr, dhat)
			byState[t], reset[t] = byInput[t], n.mul(r, h)
			dh = n.add(n.add(keep, n.mul(dreset, r)), n.do(op.Plain("MatMul"), n.concat(1, dz, dr), rows(0, 2*size)))
		default:
			next := part(0)
			before[t] = part(1)
			byInput[t] = n.mul(dh, n.rsub(1, n.square(next)))
			byState[t] = byInput[t]
			dh = c.times(byInput[t], c.r, false)
		}
	}
	g := recurrentGrads{byInput: n.stacked(byInput), byState: n.stacked(byState), h0: dh, c0: dc}
	if g.states = []*op.Operand{n.stacked(before)}; reset[0] != nil {
		g.states = []*op.Operand{g.states[0], g.states[0], n.stacked(reset)}
	}
	return g
}

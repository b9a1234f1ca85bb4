package std

import "github.com/graft-ml/graft/nn/op"

// One step of LSTM, GRU and RNN, back. What a step kept is in the order in which its forward part lists it.

// pull returns the gradient of a gate's input, which is zero where it was clipped.
func (c *recurrence) pull(n formula, k int, y, d, pre *op.Operand) *op.Operand {
	d = n.pulled(c.act(k), y, d)
	if c.Clip > 0 {
		d = n.where(n.less(n.do(op.Plain("Abs"), pre), n.num(pre, c.Clip)), d, n.num(d, 0))
	}
	return d
}

// before returns the inputs of the gates, from the part that each step keeps last; nil without clipping.
func (c *recurrence) before(kept func(i int) *op.Operand, i int) *op.Operand {
	if c.Clip > 0 {
		return kept(i)
	}
	return nil
}

func (c *recurrence) lstmBack() (goingBack, []*op.Operand) {
	peeps := make([]*op.Operand, 3)
	if c.p != nil {
		for i := range peeps {
			peeps[i] = c.part(c.n, c.p, i)
		}
	}
	return func(n formula, d []*op.Operand, kept func(i int) *op.Operand, at func(*op.Operand) *op.Operand) (before []*op.Operand, byInput, byState *op.Operand) {
		i, o, f, g, tc, last := kept(0), kept(1), kept(2), kept(3), kept(4), kept(5)
		dh, dc := d[0], d[1]
		do := c.pull(n, 0, o, n.mul(dh, tc), c.before(kept, 8))
		dc = n.add(dc, n.pulled(c.act(2), tc, n.mul(dh, o)))
		if c.p != nil {
			dc = n.add(dc, n.mul(at(peeps[1]), do))
		}
		di, df, dg := n.mul(dc, g), n.mul(dc, last), n.mul(dc, i)
		if c.InputForget {
			di, df = n.sub(di, df), n.mul(df, n.num(df, 0))
		} else {
			df = c.pull(n, 0, f, df, c.before(kept, 9))
		}
		di, dg = c.pull(n, 0, i, di, c.before(kept, 7)), c.pull(n, 1, g, dg, c.before(kept, 10))
		dc = n.mul(dc, f)
		if c.p != nil {
			dc = n.add(dc, n.add(n.mul(at(peeps[0]), di), n.mul(at(peeps[2]), df)))
		}
		gates := n.concat(1, di, do, df, dg)
		return []*op.Operand{n.do(op.Plain("MatMul"), gates, at(c.r)), dc}, gates, gates
	}, append(peeps, c.r)
}

func (c *recurrence) rnnBack() (goingBack, []*op.Operand) {
	return func(n formula, d []*op.Operand, kept func(i int) *op.Operand, at func(*op.Operand) *op.Operand) (before []*op.Operand, byInput, byState *op.Operand) {
		in := c.pull(n, 0, kept(0), d[0], c.before(kept, 2))
		return []*op.Operand{n.do(op.Plain("MatMul"), in, at(c.r))}, in, in
	}, []*op.Operand{c.r}
}

// mixing returns the gradient of h = (1 − z)·hat + z·before: that of z in front of its activation, and that of hat likewise.
func (c *recurrence) mixing(n formula, dh *op.Operand, kept func(i int) *op.Operand, pre int) (dz, dhat *op.Operand) {
	z, hat, h := kept(0), kept(2), kept(3)
	dz = c.pull(n, 0, z, n.mul(dh, n.sub(h, hat)), c.before(kept, pre))
	return dz, c.pull(n, 1, hat, n.mul(dh, n.rsub(1, z)), c.before(kept, pre+2))
}

func (c *recurrence) gruBack() (goingBack, []*op.Operand) {
	rows := func(lo, hi int) *op.Operand {
		return c.n.do(SliceConfig{}, c.r, c.n.Vector("starts", lo*c.Hidden), c.n.Vector("ends", hi*c.Hidden), c.n.Vector("axes", 0))
	}
	gates, hidden := rows(0, 2), rows(2, 3)
	return func(n formula, d []*op.Operand, kept func(i int) *op.Operand, at func(*op.Operand) *op.Operand) (before []*op.Operand, byInput, byState *op.Operand) {
		dz, dhat := c.mixing(n, d[0], kept, 4)
		r, h := kept(1), kept(3)
		dreset := n.do(op.Plain("MatMul"), dhat, at(hidden))
		dr := c.pull(n, 0, r, n.mul(dreset, h), c.before(kept, 5))
		dh := n.add(n.mul(d[0], kept(0)), n.mul(dreset, r))
		dh = n.add(dh, n.do(op.Plain("MatMul"), n.concat(1, dz, dr), at(gates)))
		in := n.concat(1, dz, dr, dhat)
		return []*op.Operand{dh}, in, in
	}, []*op.Operand{gates, hidden}
}

func (c *recurrence) linearGRUBack() (goingBack, []*op.Operand) {
	return func(n formula, d []*op.Operand, kept func(i int) *op.Operand, at func(*op.Operand) *op.Operand) (before []*op.Operand, byInput, byState *op.Operand) {
		dz, dhat := c.mixing(n, d[0], kept, 5)
		r := kept(1)
		dr := c.pull(n, 0, r, n.mul(dhat, kept(4)), c.before(kept, 6))
		rec := n.concat(1, dz, dr, n.mul(dhat, r))
		return []*op.Operand{n.add(n.mul(d[0], kept(0)), n.do(op.Plain("MatMul"), rec, at(c.r)))}, n.concat(1, dz, dr, dhat), rec
	}, []*op.Operand{c.r}
}

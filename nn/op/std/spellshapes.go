package std

import "github.com/graft-ml/graft/nn/op"

// The gradients that move, sum and select elements, spelled in operators of files.

// spellMatMulTransposed transposes the operands.
func spellMatMulTransposed(n formula) error {
	cfg := n.Config.(stackConfig)
	a, b := n.In[0], n.In[1]
	if cfg.TransA {
		a = n.swapLast(a, n.rank(0))
	}
	if cfg.TransB {
		b = n.swapLast(b, n.rank(1))
	}
	n.Give(0, n.do(op.Plain("MatMul"), a, b))
	return nil
}

// swapLast exchanges the last two axes.
func (n formula) swapLast(x *op.Operand, rank int) *op.Operand {
	perm := upTo(0, rank)
	perm[rank-2], perm[rank-1] = rank-1, rank-2
	return n.transpose(x, perm...)
}

// spellClipGrad passes dy to x where it is between the bounds, otherwise to the bounds.
func spellClipGrad(n formula) error {
	cfg, dy, y := n.Config.(clipGradConfig).Of, n.In[0], n.In[1]
	bound := func(i int, attr *float32) *op.Operand {
		if n.Has(i) {
			return n.In[i]
		}
		if attr != nil {
			return n.num(dy, float64(*attr))
		}
		return nil
	}
	lo, hi := bound(2, cfg.Min), bound(3, cfg.Max)
	dx := dy
	if lo != nil {
		dx = n.gated(dx, n.greater(y, lo))
	}
	if hi != nil {
		dx = n.gated(dx, n.less(y, hi))
	}
	total := func(test *op.Operand, i int) *op.Operand {
		s := n.gated(dy, test)
		if r := n.rank(0); r > 0 {
			s = n.sum(s, false, upTo(0, r)...)
		}
		return n.likeOut(s, i)
	}
	if n.Wants(1) && n.Has(2) {
		low := n.not(n.greater(y, lo))
		if hi != nil { // where the bounds cross or are equal, all elements are at the upper one
			low = n.both(low, n.less(y, hi))
		}
		n.Give(1, total(low, 1))
	}
	if n.Wants(2) && n.Has(3) {
		n.Give(2, total(n.not(n.less(y, hi)), 2))
	}
	n.Give(0, n.through(dx))
	return nil
}

// through returns x, computed by a separate node if it is an operand of the call.
func (n formula) through(x *op.Operand) *op.Operand {
	for _, i := range n.In {
		if i == x {
			return n.do(op.Plain("Identity"), x)
		}
	}
	return x
}

// spellExtremeGrad shares dy among the operands that tie.
func spellExtremeGrad(n formula) error {
	dy, y := n.In[0], n.In[1]
	var ties []*op.Operand
	var sum *op.Operand
	for _, x := range n.In[2:] {
		t := n.cast(n.equal(x, y), dy.Type.DType)
		if ties = append(ties, t); sum == nil {
			sum = t
		} else {
			sum = n.add(sum, t)
		}
	}
	share := n.div(dy, sum)
	for i, t := range ties {
		if n.Wants(i) {
			n.Give(i, n.gated(share, n.greater(t, n.num(t, 0))))
		}
	}
	return nil
}

// spellPowByBase is b·a^(b−1), 0 where b is.
func spellPowByBase(n formula) error {
	a, b := n.In[0], n.In[1]
	if b.Type.DType != a.Type.DType {
		b = n.cast(b, a.Type.DType)
	}
	d := n.mul(b, n.do(PowConfig{}, a, n.plus(b, -1)))
	n.Give(0, n.where(n.equal(b, n.num(b, 0)), n.num(d, 0), d))
	return nil
}

// spellPowByExponent is a^b·ln a, 0 where a is.
func spellPowByExponent(n formula) error {
	a, b := n.In[0], n.In[1]
	zero := n.equal(a, n.num(a, 0))
	d := n.mul(n.do(PowConfig{}, a, b), n.do(op.Plain("Log"), a))
	n.Give(0, n.where(zero, n.num(d, 0), d))
	return nil
}

// axes returns the axes of a shape that a split into outer, axis and inner elements means.
func (a along) axes(shape []int) []int {
	first, count := 0, 1
	for first < len(shape) && count < a.Outer {
		count *= shape[first]
		first++
	}
	last, length := first, 1
	for last < len(shape) && length < a.Axis {
		length *= shape[last]
		last++
	}
	return upTo(first, last)
}

// alongAxes returns the axes of input 0 that a split means.
func (n formula) alongAxes(of func(c *op.Call) along) []int {
	return n.Fixed("which axes are meant", func(c *op.Call) []int { return of(c).axes(c.In[0].Sizes()) })
}

// spellSoftmaxGrad is y·(dy − Σ dy·y).
func spellSoftmaxGrad(n formula) error {
	axes := n.alongAxes(func(c *op.Call) along { return c.Config.(alongGrad).Along })
	dy, y := n.In[0], n.In[1]
	p := n.mul(dy, y)
	n.Give(0, n.mul(y, n.sub(dy, n.sum(p, true, axes...))))
	return nil
}

// spellLogSoftmaxGrad is dy − e^y·Σ dy.
func spellLogSoftmaxGrad(n formula) error {
	axes := n.alongAxes(func(c *op.Call) along { return c.Config.(alongGrad).Along })
	dy, y := n.In[0], n.In[1]
	n.Give(0, n.sub(dy, n.mul(n.exp(y), n.sum(dy, true, axes...))))
	return nil
}

// spellCrossEntropy computes the logarithmic probabilities as an output of the loss.
func spellCrossEntropy(n formula) error {
	out := n.BeforeN("", 2, n.Config, n.In...)
	logp := out[1]
	if n.Wants(1) && n.Wants(2) {
		n.Give(1, n.do(op.Plain("Identity"), logp))
	}
	if n.Wants(2) {
		n.Give(2, logp)
	} else {
		n.Give(1, logp)
	}
	n.Give(0, out[0])
	return nil
}

// spellClassLossGrad marks the right classes by comparison with all class numbers: with g the gradient of one
// label's loss and w its weight, dx is g·w·(softmax − 1 at the class), or −g·w there for logarithmic probabilities.
func spellClassLossGrad(n formula) error {
	l := n.Config.(classLoss)
	dl, logp, loss, labels := n.In[0], n.In[1], n.In[2], n.In[3]
	rank := n.rank(1)
	class := upTo(0, n.Fixed("the number of classes", func(c *op.Call) []int { return []int{c.Config.(classLoss).C} })[0])
	side := append([]int{1, l.C}, make([]int, rank-2)...)
	for i := 2; i < rank; i++ {
		side[i] = 1
	}
	numbers := n.reshape(n.cast(n.Vector("classes", class...), labels.Type.DType), side...)
	columns := n.unsqueeze(labels, 1)
	hot := n.equal(columns, numbers)
	if l.Ignore && l.Index >= 0 && l.Index < l.C {
		hot = n.both(hot, n.not(n.equal(columns, n.num(columns, float64(l.Index)))))
	}
	t := logp.Type.DType
	hot = n.cast(hot, t)
	weighted := hot
	if n.Has(4) {
		weighted = n.mul(hot, n.reshape(n.In[4], side...))
	}
	weight := n.sum(weighted, true, 1)
	g := dl
	switch l.Reduction {
	case "none":
		g = n.unsqueeze(dl, 1)
	case "mean":
		total := n.sum(weighted, false, upTo(0, rank)...)
		g = n.div(dl, n.where(n.equal(total, n.num(total, 0)), n.num(total, 1), total))
	}
	if n.Wants(0) {
		d := n.neg(weighted)
		if l.Scores {
			d = n.sub(n.mul(n.exp(logp), weight), weighted)
		}
		n.Give(0, n.mul(d, g))
	}
	if n.Wants(1) {
		v := n.neg(logp)
		if l.Reduction == "mean" {
			v = n.sub(v, loss)
		}
		n.Give(1, n.sum(n.mul(n.mul(hot, v), g), false, append([]int{0}, upTo(2, rank)...)...))
	}
	return nil
}

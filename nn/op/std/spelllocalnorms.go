package std

import "github.com/graft-ml/graft/nn/op"

// window sums, along axis 1, the elements from before positions before to after positions after each element.
func (n formula) window(x *op.Operand, rank, channels, before, after int) *op.Operand {
	pads := make([]int, 2*rank)
	pads[1], pads[rank+1] = before, after
	padded := n.do(PadConfig{}, x, n.Vector("pads", pads...))
	var sum *op.Operand
	for k := range before + after + 1 {
		part := n.do(SliceConfig{}, padded, n.Vector("starts", k), n.Vector("ends", k+channels), n.Vector("axes", 1))
		if sum == nil {
			sum = part
		} else {
			sum = n.add(sum, part)
		}
	}
	return sum
}

// exposeLRN keeps the base of the power.
func exposeLRN(n formula) error {
	l, x := lrnOf(n.Call), n.In[0]
	n.Fixed("the number of channels", func(c *op.Call) []int { return []int{lrnOf(c).C} })
	s := n.plus(n.times(n.window(n.square(x), n.rank(0), l.C, l.Before, l.After), l.Alpha), l.Bias)
	n.Give(0, n.mul(x, n.do(PowConfig{}, s, n.num(x, -l.Beta))))
	n.Give(1, s)
	return nil
}

// spellLRNGrad: dx = dy·s^−β − 2αβ·x·Σ dy·x·s^(−β−1), over the channels that look at this one.
func spellLRNGrad(n formula) error {
	l, dy, x, s := n.Config.(lrnShape), n.In[0], n.In[1], n.In[2]
	p := n.do(PowConfig{}, s, n.num(s, -l.Beta))
	sum := n.window(n.div(n.mul(n.mul(dy, x), p), s), n.rank(0), l.C, l.After, l.Before)
	n.Give(0, n.sub(n.mul(dy, p), n.times(n.mul(x, sum), 2*l.Alpha*l.Beta)))
	return nil
}

// spellMVNGrad writes what mvnBack computes.
func spellMVNGrad(n formula) error {
	x, dy := n.In[0], n.In[1]
	axes := n.Fixed("which axes are meant", func(c *op.Call) []int {
		m, count, axes := c.Config.(mvn), 1, []int(nil)
		for i := len(m.Perm) - 1; i >= 0 && count < m.Cols; i-- {
			axes = append(axes, m.Perm[i])
			count *= m.Shape[m.Perm[i]]
		}
		return axes
	})
	centered := n.sub(x, n.mean(x, true, axes...))
	dev := n.sqrt(n.mean(n.square(centered), true, axes...))
	d := n.plus(dev, mvnEpsilon)
	some := n.greater(dev, n.num(dev, 0))
	k := n.div(n.mean(n.mul(dy, centered), true, axes...), n.mul(n.where(some, dev, n.num(dev, 1)), n.square(d)))
	n.Give(0, n.sub(n.div(n.sub(dy, n.mean(dy, true, axes...)), d), n.mul(centered, n.gated(k, some))))
	return nil
}

// spellLpNormGrad writes what lpNormBack computes.
func spellLpNormGrad(n formula) error {
	l, dy, x := n.Config.(lpNorm), n.In[0], n.In[1]
	axes := n.alongAxes(func(c *op.Call) along { return c.Config.(lpNorm).Along })
	var size, u *op.Operand
	if l.P == 1 {
		size = n.sum(n.do(op.Plain("Abs"), x), true, axes...)
	} else {
		size = n.sqrt(n.sum(n.square(x), true, axes...))
	}
	some := n.greater(size, n.num(size, 0))
	safe := n.where(some, size, n.num(size, 1))
	if u = n.div(x, safe); l.P == 1 {
		u = n.do(op.Plain("Sign"), x)
	}
	dot := n.div(n.sum(n.mul(dy, x), true, axes...), safe)
	n.Give(0, n.gated(n.div(n.sub(dy, n.mul(u, dot)), safe), some))
	return nil
}

package std

import (
	"errors"

	"github.com/graft-ml/graft/nn/op"
)

// The normalizations as training computes them and their gradients, spelled in operators of files. Statistics that are
// handed from one to the other keep the axes that they are taken over, with length 1.

// exposeBatchNorm normalizes by the statistics of the batch.
func exposeBatchNorm(n formula) error {
	if perElement(n.Call) {
		return errors.New("it has statistics for every element (spatial is 0)")
	}
	m, x, t := batchNormOf(n.Call), n.In[0], n.In[0].Type.DType
	if !m.batch {
		return errors.New("it is not in training mode")
	}
	rank := n.rank(0)
	axes := append([]int{0}, upTo(2, rank)...)
	wide := func(v *op.Operand) *op.Operand { return n.channelWise(n.cast(v, t), rank) }
	mean := n.mean(x, true, axes...)
	centered := n.sub(x, mean)
	variance := n.mean(n.square(centered), true, axes...)
	inv := n.do(op.Plain("Reciprocal"), n.sqrt(n.plus(variance, m.eps)))
	y := n.mul(centered, n.mul(inv, wide(n.In[1])))
	vector := func(v *op.Operand) *op.Operand { return n.cast(n.reshape(v, -1), n.In[3].Type.DType) }
	for _, i := range []int{bnSavedMean, bnUsedMean} {
		n.Give(i, vector(mean))
		n.Give(i+1, vector(variance))
	}
	mix := func(old, now *op.Operand) *op.Operand {
		return n.add(n.times(old, m.momentum), n.times(now, 1-m.momentum))
	}
	for _, i := range []int{bnRunningMean, bnNextMean} {
		n.Give(i, mix(n.In[3], vector(mean)))
		n.Give(i+1, mix(n.In[4], vector(variance)))
	}
	n.Give(0, n.add(y, wide(n.In[2])))
	return nil
}

// channelWise reshapes a vector so that it is broadcast along axis 1 of a tensor.
func (n formula) channelWise(v *op.Operand, rank int) *op.Operand {
	shape := []int{1, -1}
	for len(shape) < rank {
		shape = append(shape, 1)
	}
	return n.reshape(v, shape[:max(rank, 2)]...)
}

// spellBatchNormGrad: with x̂ the normalized input and means over everything but the channels,
// dx = scale/√(var+ε)·(dy − mean dy − x̂·mean(dy·x̂)), without the means where the statistics are given.
func spellBatchNormGrad(n formula) error {
	m, dy, x := n.Config.(bnGrad).Norm, n.In[0], n.In[1]
	rank, t := n.rank(1), n.In[1].Type.DType
	if rank < 2 || n.Call.In[2].Shape[0].Size != n.Call.In[1].Shape[1].Size {
		return errors.New("it has statistics for every element (spatial is 0)")
	}
	axes := append([]int{0}, upTo(2, rank)...)
	wide := func(v *op.Operand) *op.Operand { return n.channelWise(n.cast(v, t), rank) }
	inv := n.do(op.Plain("Reciprocal"), n.sqrt(n.plus(wide(n.In[4]), m.eps)))
	hat := n.mul(n.sub(x, wide(n.In[3])), inv)
	p := n.mul(dy, hat)
	n.Give(2, n.cast(n.sum(dy, false, axes...), n.In[2].Type.DType))
	n.Give(1, n.cast(n.sum(p, false, axes...), n.In[2].Type.DType))
	d := dy
	if m.batch {
		d = n.sub(n.sub(dy, n.mean(dy, true, axes...)), n.mul(hat, n.mean(p, true, axes...)))
	}
	n.Give(0, n.mul(d, n.mul(inv, wide(n.In[2]))))
	return nil
}

// exposeLayerNorm keeps mean and 1/deviation.
func exposeLayerNorm(n formula) error {
	cfg := n.Config.(LayerNormalizationConfig)
	axis, err := lastAxes(n.Call, cfg.Axis)
	if err != nil {
		return err
	}
	x, axes := n.In[0], upTo(axis, n.rank(0))
	mean := n.mean(x, true, axes...)
	centered := n.sub(x, mean)
	inv := n.do(op.Plain("Reciprocal"), n.sqrt(n.plus(n.mean(n.square(centered), true, axes...), orFloat(cfg.Epsilon, 1e-5))))
	y := n.mul(n.mul(centered, inv), n.In[1])
	if n.Has(2) {
		y = n.add(y, n.In[2])
	}
	n.Give(0, y)
	for i, v := range []*op.Operand{mean, inv} {
		if n.Wants(1 + i) {
			n.Give(1+i, n.do(CastConfig{To: cfg.StashType}, v))
		}
		n.Give(3+i, v)
	}
	return nil
}

// spellLayerNormGrad: with g = dy·scale, dx = (g − mean g − x̂·mean(g·x̂))/deviation.
func spellLayerNormGrad(n formula) error {
	if n.Has(5) || n.Has(6) || !n.Has(4) {
		return errors.New("a gradient flows through its mean or inverse standard deviation")
	}
	rank := n.rank(0)
	axis := rank - len(n.Config.(layerGrad).Layer.Norm)
	axes, lead := upTo(axis, rank), upTo(0, axis)
	inv, dy := n.In[3], n.In[4]
	hat := n.mul(n.sub(n.In[0], n.In[2]), inv)
	n.Give(2, n.through(n.sum(dy, false, lead...)))
	n.Give(1, n.through(n.sum(n.mul(dy, hat), false, lead...)))
	g := n.mul(dy, n.In[1])
	d := n.sub(n.sub(g, n.mean(g, true, axes...)), n.mul(hat, n.mean(n.mul(g, hat), true, axes...)))
	n.Give(0, n.mul(d, inv))
	return nil
}

// exposeRMSNorm keeps 1/root.
func exposeRMSNorm(n formula) error {
	cfg := n.Config.(RMSNormalizationConfig)
	axis, err := lastAxes(n.Call, cfg.Axis)
	if err != nil {
		return err
	}
	x, axes := n.In[0], upTo(axis, n.rank(0))
	inv := n.do(op.Plain("Reciprocal"), n.sqrt(n.plus(n.mean(n.square(x), true, axes...), orFloat(cfg.Epsilon, 1e-5))))
	n.Give(0, n.mul(n.cast(n.mul(x, inv), n.In[1].Type.DType), n.In[1]))
	n.Give(1, inv)
	return nil
}

// spellRMSNormGrad: with g = dy·scale, dx = (g − x̂·mean(g·x̂))/root.
func spellRMSNormGrad(n formula) error {
	dy, inv, rank := n.In[0], n.In[3], n.rank(1)
	axis := rank - len(n.Config.(rmsGrad).Layer.Norm)
	hat := n.mul(n.In[1], inv)
	n.Give(1, n.through(n.sum(n.mul(dy, hat), false, upTo(0, axis)...)))
	g := n.mul(dy, n.In[2])
	n.Give(0, n.mul(inv, n.sub(g, n.mul(hat, n.mean(n.mul(g, hat), true, upTo(axis, rank)...)))))
	return nil
}

// grouped is x as blocks of an image, the elements of a block in a row.
func (n formula) grouped(x *op.Operand, blocks int) *op.Operand { return n.reshape(x, 0, blocks, -1) }

// groups counts the groups of an image.
func (n formula) groups(of func(c *op.Call) groupNorm) int {
	return n.Fixed("the number of channels", func(c *op.Call) []int {
		m := of(c)
		return []int{m.Rows / max(m.Images, 1), m.Affine}
	})[0]
}

// exposeGroupNorm keeps mean and 1/deviation of each group.
func exposeGroupNorm(n formula) error {
	m, err := groupNormOf(n.Call)
	if err != nil {
		return err
	}
	groups := n.groups(func(c *op.Call) groupNorm { m, _ := groupNormOf(c); return m })
	x := n.grouped(n.In[0], groups)
	mean := n.mean(x, true, 2)
	centered := n.sub(x, mean)
	inv := n.do(op.Plain("Reciprocal"), n.sqrt(n.plus(n.mean(n.square(centered), true, 2), m.Eps)))
	y := n.grouped(n.likeOut(n.mul(centered, inv), 0), m.Affine)
	y = n.add(n.mul(y, n.reshape(n.In[1], 1, -1, 1)), n.reshape(n.In[2], 1, -1, 1))
	n.Give(0, n.likeOut(y, 0))
	n.Give(1, mean)
	n.Give(2, inv)
	return nil
}

// spellGroupNormGrad is that of a layer normalization of each group.
func spellGroupNormGrad(n formula) error {
	m := n.Config.(groupNorm)
	groups := n.groups(func(c *op.Call) groupNorm { return c.Config.(groupNorm) })
	dy, x, mean, inv := n.In[0], n.In[1], n.In[3], n.In[4]
	hat := n.mul(n.sub(n.grouped(x, groups), mean), inv)
	rows := n.grouped(dy, m.Affine)
	byChannel := n.grouped(n.likeOut(hat, 0), m.Affine)
	n.Give(2, n.sum(rows, false, 0, 2))
	n.Give(1, n.sum(n.mul(rows, byChannel), false, 0, 2))
	g := n.grouped(n.likeOut(n.mul(rows, n.reshape(n.In[2], 1, -1, 1)), 0), groups)
	d := n.sub(n.sub(g, n.mean(g, true, 2)), n.mul(hat, n.mean(n.mul(g, hat), true, 2)))
	n.Give(0, n.likeOut(n.mul(d, inv), 0))
	return nil
}

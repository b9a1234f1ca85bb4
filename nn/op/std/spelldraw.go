package std

import (
	"errors"

	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
)

// Random numbers expressed in integer operators: the same bits as those of streamKey and draw.
// Integers are int64, whose sums and products wrap around like those of uint64; shifts use uint64.

func (n formula) word(x uint64) *op.Operand {
	d, err := dtype.FromSlice([]int64{int64(x)})
	n.Err = errors.Join(n.Err, err)
	return n.Tensor("word", d)
}

func (n formula) xor(a, b *op.Operand) *op.Operand { return n.do(op.Plain("BitwiseXor"), a, b) }

// shift is x shifted right by some bits, zeros coming in.
func (n formula) shift(x *op.Operand, bits uint64) *op.Operand {
	d, err := dtype.FromSlice([]uint64{bits})
	n.Err = errors.Join(n.Err, err)
	x = n.do(BitShiftConfig{Direction: "RIGHT"}, n.cast(x, dtype.Uint64), n.Tensor("bits", d))
	return n.cast(x, dtype.Int64)
}

// mix spells mix64.
func (n formula) mix(z *op.Operand) *op.Operand {
	z = n.add(z, n.word(0x9E3779B97F4A7C15))
	z = n.mul(n.xor(z, n.shift(z, 30)), n.word(0xBF58476D1CE4E5B9))
	z = n.mul(n.xor(z, n.shift(z, 27)), n.word(0x94D049BB133111EB))
	return n.xor(z, n.shift(z, 31))
}

// stream spells streamKey; key is uint64[2].
func (n formula) stream(key *op.Operand, seed *uint64) *op.Operand {
	h := mix64(n.Call.Stream + 0x9E3779B97F4A7C15)
	if seed != nil {
		h = mix64(h ^ *seed)
	}
	key, k := n.cast(key, dtype.Int64), n.word(h)
	for i := range 2 {
		k = n.mix(n.xor(k, n.do(GatherConfig{}, key, n.word(uint64(i)))))
	}
	return k
}

// draws writes draw for the numbers from 0 on, one for each element of output 0.
func (n formula) draws(key *op.Operand) *op.Operand {
	total := n.do(ReshapeConfig{}, n.ShapeOf(func(c *op.Call) []op.Dim { return []op.Dim{op.D(c.Out[0].Elements())} }), n.Vector("shape"))
	i := n.do(op.Plain("Range"), n.word(0), total, n.word(1))
	return n.mix(n.add(n.mul(i, n.word(0xD1342543DE82EF95)), key))
}

// exposeDropout draws as the kernel does, and hands on the mask and the scale.
func exposeDropout(n formula) error {
	c, cfg, x := n.Call, n.Config.(DropoutConfig), n.In[0]
	var seed *uint64
	if cfg.Seed != nil {
		seed = pointer(uint64(*cfg.Seed))
	}
	at := func(x float64) *op.Operand {
		v, err := n.Filled("ratio", dtype.Float64, x)
		n.Err = errors.Join(n.Err, err)
		return v
	}
	ratio := at(orFloat(cfg.Ratio, 0.5))
	if c.Has(1) {
		ratio = n.do(ReshapeConfig{}, n.cast(n.In[1], dtype.Float64), n.Vector("shape"))
	}
	switch {
	case c.Has(2):
		ratio = n.where(n.do(ReshapeConfig{}, n.In[2], n.Vector("shape")), ratio, at(0))
	case !c.Train:
		ratio = at(0)
	}
	limit := n.cast(n.mul(ratio, at(1<<32)), dtype.Int64)
	whole := n.equal(ratio, at(1))
	scale := n.where(whole, at(0), n.div(at(1), n.sub(at(1), n.where(whole, at(0), ratio))))
	scale = n.cast(scale, x.Type.DType)
	top := n.shift(n.draws(n.stream(n.In[len(n.In)-1], seed)), 32)
	stays := n.likeOut(n.not(n.less(top, limit)), 0)
	y := n.where(stays, n.mul(x, scale), n.num(x, 0))
	if n.Wants(1) {
		mask := n.do(op.Plain("Identity"), stays)
		if c.Out[1].DType != dtype.Bool {
			mask = n.cast(stays, c.Out[1].DType)
		}
		n.Give(1, mask)
	}
	n.Give(0, y)
	n.Give(2, stays)
	n.Give(3, scale)
	return nil
}

func spellDropoutGrad(n formula) error {
	dy := n.In[0]
	n.Give(0, n.where(n.In[1], n.mul(dy, n.In[2]), n.num(dy, 0)))
	return nil
}

// spellPReluGrad writes the gradient of the slope before it is summed.
func spellPReluGrad(n formula) error {
	dy, x, s := n.In[0], n.In[1], n.In[2]
	n.Give(0, n.where(n.greater(x, n.num(x, 0)), dy, n.mul(dy, s)))
	n.Give(1, n.mul(dy, n.do(op.Plain("Min"), x, n.num(x, 0))))
	return nil
}

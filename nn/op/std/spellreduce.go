package std

import (
	"errors"

	"github.com/graft-ml/graft/nn/op"
)

// spellReduceGrad brings dy back over the axes that were reduced.
func spellReduceGrad(n formula) error {
	cfg := n.Config.(reduceGradConfig)
	back := func(v *op.Operand) *op.Operand {
		return n.do(ReshapeConfig{}, v, n.ShapeOf(func(c *op.Call) []op.Dim {
			shape := append([]op.Dim{}, c.Out[0].Shape...)
			for _, a := range c.Config.(reduceGradConfig).Axes {
				shape[a] = op.D(1)
			}
			return shape
		}))
	}
	dy := back(n.In[0])
	var x, y *op.Operand
	if n.Has(1) {
		x = n.In[1]
	}
	if n.Has(2) {
		y = back(n.In[2])
	}
	switch cfg.Kind {
	case gradSum:
	case gradMean:
		dy = n.div(dy, n.count(dy.Type.DType, func(c *op.Call) []op.Dim {
			k := c.Config.(reduceGradConfig)
			dims := []op.Dim{op.D(1)}
			for _, a := range k.Axes {
				dims = append(dims, c.Out[0].Shape[a])
			}
			return dims
		}))
	case gradExtreme:
		ties := n.cast(n.equal(x, y), dy.Type.DType)
		share := n.div(dy, n.sum(ties, true, cfg.Axes...))
		dy = n.gated(share, n.greater(ties, n.num(ties, 0)))
	case gradL1:
		dy = n.mul(dy, n.do(op.Plain("Sign"), x))
	case gradL2:
		zero := n.equal(y, n.num(y, 0))
		dy = n.gated(n.mul(dy, n.div(x, n.where(zero, n.num(y, 1), y))), n.not(zero))
	case gradLogSum:
		dy = n.mul(dy, n.exp(n.neg(y)))
	case gradLogSumExp:
		dy = n.mul(dy, n.exp(n.sub(x, y)))
	case gradSumSquare:
		dy = n.mul(dy, n.times(x, 2))
	case gradProd:
		zero := n.equal(x, n.num(x, 0))
		safe := n.where(zero, n.num(x, 1), x)
		others := n.do(ReduceProdConfig{KeepDims: pointer(true)}, safe, n.Vector("axes", cfg.Axes...))
		zeros := n.sum(n.cast(zero, x.Type.DType), true, cfg.Axes...)
		none := n.equal(zeros, n.num(zeros, 0))
		only := n.both(n.equal(zeros, n.num(zeros, 1)), zero)
		dy = n.mul(dy, n.where(none, n.div(others, safe), n.gated(others, only)))
	default:
		return errors.New("its reduction cannot be written in ONNX operators")
	}
	n.Give(0, n.expand(dy, n.OutShape(0)))
	return nil
}

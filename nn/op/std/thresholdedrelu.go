package std

import (
	"github.com/graft-ml/graft/internal/kernel"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/trait"
)

// ThresholdedReluConfig has the attributes of ThresholdedRelu. Alpha is 1 when nil.
type ThresholdedReluConfig struct {
	Alpha *float32 `onnx:"alpha,nil=1"`
}

// Operator makes ThresholdedReluConfig a Config.
func (ThresholdedReluConfig) Operator() op.Name { return op.Name{Name: "ThresholdedRelu"} }

func thresholdedRelu() []*op.Op {
	return pointwiseOp{
		name: "ThresholdedRelu", doc: "x above alpha, 0 elsewhere.", since: []int{10, 22}, decompose: decomposeThresholdedRelu, attrs: ThresholdedReluConfig{},
		traits: op.Traits{Zero: op.ZeroFirst, Range: rangeShrunk, Activation: trait.HiddenActivation, Keeps: keepsAbove},
		of: func(c op.Config) pointwise {
			a := orFloat(c.(ThresholdedReluConfig).Alpha, 1)
			return slopes("x", above(float32(a)), above(a), aboveGrad(float32(a)), aboveGrad(a))
		},
	}.ops()
}

func above[T kernel.Float](a T) func(x T) T {
	return func(x T) T {
		if x > a {
			return x
		}
		return 0
	}
}

func aboveGrad[T kernel.Float](a T) func(dy, x T) T {
	return func(dy, x T) T {
		if x > a {
			return dy
		}
		return 0
	}
}

// keepsAbove: elements above alpha are unchanged, and zeros are zeros in any case.
func keepsAbove(c *op.Call, r trait.Interval) bool {
	a := orFloat(c.Config.(ThresholdedReluConfig).Alpha, 1)
	return r.Lo > a || a == 0 && r.Lo >= 0
}

func decomposeThresholdedRelu(n *op.Spelling) error {
	alpha, err := n.Filled("alpha", n.DType(0), float64(orFloat(n.Config.(ThresholdedReluConfig).Alpha, 1)))
	if err != nil {
		return err
	}
	zero, err := n.Filled("zero", n.DType(0), 0)
	if err != nil {
		return err
	}
	n.Give(0, n.Before("", op.Plain("Where"), n.Before("above", op.Plain("Greater"), n.In[0], alpha), n.In[0], zero))
	return nil
}

package std

import (
	"github.com/graft-ml/graft/internal/kernel/elementwise"
	"github.com/graft-ml/graft/nn/op"
)

// CeluConfig has the attributes of Celu. Alpha is 1 when nil.
type CeluConfig struct {
	Alpha *float32 `onnx:"alpha,nil=1"`
}

// Operator makes CeluConfig a Config.
func (CeluConfig) Operator() op.Name { return op.Name{Name: "Celu"} }

func celu() []*op.Op {
	list := pointwiseOp{
		name: "Celu", doc: "max(0, x) + min(0, alpha·(e^(x/alpha) − 1)).", since: []int{12}, decompose: decomposeCelu, attrs: CeluConfig{},
		traits: rectifier(),
		of: func(c op.Config) pointwise {
			a := orFloat(c.(CeluConfig).Alpha, 1)
			return exponential(elementwise.Exponential[float64]{Alpha: a, Gamma: 1, Inner: 1 / a})
		},
	}.ops()
	list[0].Check = func(c *op.Call) error {
		if orFloat(c.Config.(CeluConfig).Alpha, 1) == 0 {
			return c.Errorf("alpha is 0")
		}
		return nil
	}
	return list
}

// decomposeCelu is alpha·Elu(x/alpha), of an Elu with slope 1.
func decomposeCelu(n *op.Spelling) error {
	alpha, err := n.Filled("alpha", n.DType(0), float64(orFloat(n.Config.(CeluConfig).Alpha, 1)))
	if err != nil {
		return err
	}
	y := n.Before("elu", op.Plain("Elu"), n.Before("quotient", op.Plain("Div"), n.In[0], alpha))
	n.Give(0, n.Before("", op.Plain("Mul"), y, alpha))
	return nil
}

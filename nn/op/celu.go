package op

import "github.com/graft-ml/graft/internal/kernel"

// CeluConfig has the attributes of Celu. Alpha is 1 when nil.
type CeluConfig struct {
	Alpha *float32 `onnx:"alpha"`
}

// Operator makes CeluConfig a Config.
func (CeluConfig) Operator() Name { return Name{Name: "Celu"} }

func celu() []*Op {
	list := pointwiseOp{
		name: "Celu", doc: "max(0, x) + min(0, alpha·(e^(x/alpha) − 1)).", since: []int{12}, decompose: decomposeCelu, attrs: CeluConfig{},
		traits: rectifier(),
		of: func(c Config) pointwise {
			a := orFloat(c.(CeluConfig).Alpha, 1)
			return exponential(kernel.Exponential[float64]{Alpha: a, Gamma: 1, Inner: 1 / a})
		},
	}.ops()
	list[0].Check = func(c *Call) error {
		if orFloat(c.Config.(CeluConfig).Alpha, 1) == 0 {
			return c.Errorf("alpha is 0")
		}
		return nil
	}
	return list
}

// decomposeCelu is alpha·Elu(x/alpha), of an Elu with slope 1.
func decomposeCelu(n *Spelling) error {
	alpha, err := n.Filled("alpha", n.DType(0), float64(orFloat(n.Config.(CeluConfig).Alpha, 1)))
	if err != nil {
		return err
	}
	y := n.Before("elu", Plain("Elu"), n.Before("quotient", Plain("Div"), n.In[0], alpha))
	n.Give(0, n.Before("", Plain("Mul"), y, alpha))
	return nil
}

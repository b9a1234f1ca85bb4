package std

import (
	"github.com/graft-ml/graft/nn/op"
	"gorgonia.org/gorgonia"
)

// SwiGLUConfig has the attributes of SwiGLU. Alpha is 1 when nil.
type SwiGLUConfig struct {
	Alpha *float32 `onnx:"alpha"`
}

// Operator makes SwiGLUConfig a Config.
func (SwiGLUConfig) Operator() op.Name { return op.Name{Name: "SwiGLU"} }

func swiGLU() *op.Op {
	return &op.Op{
		Name: "SwiGLU", Since: []int{28}, Decompose: decomposeSwiGLU, Doc: "A·sigmoid(alpha·A)·B: a gate and what goes through it.",
		In: "A T, B T", Out: "Y T", Where: op.Where{"T": op.Floats()}, Attrs: SwiGLUConfig{}, Couple: op.Elementwise,
		Infer: func(c *op.Call) ([]op.Type, error) {
			a, b := c.In[0], c.In[1]
			if a.Unranked || b.Unranked {
				return []op.Type{a}, nil
			}
			if len(a.Shape) != len(b.Shape) {
				return nil, c.Mismatch(1, a, b)
			}
			shape := make([]op.Dim, len(a.Shape))
			for i := range shape {
				var ok bool
				if shape[i], ok = a.Shape[i].Merge(b.Shape[i]); !ok {
					return nil, c.Mismatch(1, a, b)
				}
			}
			return []op.Type{a.With(shape...)}, nil
		},
		Lower: func(c *op.Call, in gorgonia.Nodes) (gorgonia.Nodes, error) {
			b := composeOn(c, in)
			gate := b.do(SwishConfig{Alpha: c.Config.(SwiGLUConfig).Alpha}, in[0])
			return b.results(in, b.do(op.Plain("Mul"), gate, in[1]))
		},
	}
}

func decomposeSwiGLU(n *op.Spelling) error {
	gate, err := spellGate(n, n.In[0], n.Config.(SwiGLUConfig).Alpha)
	if err != nil {
		return err
	}
	n.Give(0, n.Before("", op.Plain("Mul"), n.Before("gated", op.Plain("Mul"), n.In[0], gate), n.In[1]))
	return nil
}

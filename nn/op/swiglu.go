package op

import "gorgonia.org/gorgonia"

// SwiGLUConfig has the attributes of SwiGLU. Alpha is 1 when nil.
type SwiGLUConfig struct {
	Alpha *float32 `onnx:"alpha"`
}

// Operator makes SwiGLUConfig a Config.
func (SwiGLUConfig) Operator() Name { return Name{Name: "SwiGLU"} }

func swiGLU() *Op {
	return &Op{
		Name: "SwiGLU", Since: []int{28}, Decompose: decomposeSwiGLU, Doc: "A·sigmoid(alpha·A)·B: a gate and what goes through it.",
		In: "A T, B T", Out: "Y T", Where: Where{"T": Floats}, Attrs: SwiGLUConfig{}, Couple: Elementwise,
		Infer: func(c *Call) ([]Type, error) {
			a, b := c.In[0], c.In[1]
			if a.Unranked || b.Unranked {
				return []Type{a}, nil
			}
			if len(a.Shape) != len(b.Shape) {
				return nil, c.wantGot(1, a, b)
			}
			shape := make([]Dim, len(a.Shape))
			for i := range shape {
				var ok bool
				if shape[i], ok = a.Shape[i].Merge(b.Shape[i]); !ok {
					return nil, c.wantGot(1, a, b)
				}
			}
			return []Type{a.With(shape...)}, nil
		},
		Lower: func(c *Call, in gorgonia.Nodes) (gorgonia.Nodes, error) {
			b := composeOn(c, in)
			gate := b.do(SwishConfig{Alpha: c.Config.(SwiGLUConfig).Alpha}, in[0])
			return b.results(in, b.do(Plain("Mul"), gate, in[1]))
		},
	}
}

func decomposeSwiGLU(n *Spelling) error {
	gate, err := n.gate(n.In[0], n.Config.(SwiGLUConfig).Alpha)
	if err != nil {
		return err
	}
	n.Give(0, n.Before("", Plain("Mul"), n.Before("gated", Plain("Mul"), n.In[0], gate), n.In[1]))
	return nil
}

package op

import (
	"github.com/graft-ml/graft/nn/dtype"
	"gorgonia.org/tensor"
)

// BitCastConfig has the attributes of BitCast.
type BitCastConfig struct {
	To DType `onnx:"to,required"` // as many bits as the input's elements have
}

// Operator makes BitCastConfig a Config.
func (BitCastConfig) Operator() Name { return Name{Name: "BitCast"} }

func bitCast() *Op {
	return &Op{
		Name: "BitCast", Since: []int{26}, Doc: "Takes the bits of the elements for those of another type.",
		In: "input T1", Out: "output T2", Attrs: BitCastConfig{},
		Infer: func(c *Call) ([]Type, error) {
			from, to := c.In[0].DType, c.Config.(BitCastConfig).To
			if !to.Valid() || to.Bits() == 0 || from.Bits() != to.Bits() {
				return nil, c.Errorf("cannot take the bits of %v for %v", from, to)
			}
			return []Type{c.In[0].Of(to)}, nil
		},
		Kernel: bitCastKernel, GradMissing: "works on bits", Couple: func(c *Call) []Coupling { return CoupleAll(c, 0) },
	}
}

func bitCastKernel(c *Call) (Kernel, error) {
	to := c.Config.(BitCastConfig).To
	mask, sign := byte(1<<min(to.Bits(), 7)-1), byte(0)
	if to == dtype.Int4 || to == dtype.Int2 {
		sign = 1 << (to.Bits() - 1)
	}
	return func(_ *Exec, out, in []*tensor.Dense) error {
		y := out[0].Raw
		copy(y, in[0].Raw)
		if to.Bits() < 8 { // memory holds one element in a byte, integers sign-extended
			for i, v := range y {
				y[i] = v&mask ^ sign - sign
			}
		}
		return nil
	}, nil
}

package std

import (
	"github.com/graft-ml/graft/internal/kernel"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/coupling"
	"gorgonia.org/tensor"
)

// BitCastConfig has the attributes of BitCast.
type BitCastConfig struct {
	To op.DType `onnx:"to,required"` // must have as many bits as the input's type
}

// Operator makes BitCastConfig a Config.
func (BitCastConfig) Operator() op.Name { return op.Name{Name: "BitCast"} }

func bitCast() *op.Op {
	return &op.Op{
		Name: "BitCast", Since: []int{26}, Doc: "Takes the bits of the elements for those of another type.",
		In: "input T1", Out: "output T2", Attrs: BitCastConfig{},
		Infer: func(c *op.Call) ([]op.Type, error) {
			from, to := c.In[0].DType, c.Config.(BitCastConfig).To
			if !to.Valid() || to.Bits() == 0 || from.Bits() != to.Bits() {
				return nil, c.Errorf("cannot reinterpret the bits of %v as %v", from, to)
			}
			return []op.Type{c.In[0].Of(to)}, nil
		},
		Kernel: bitCastKernel, GradMissing: "works on bits", Couple: func(c *op.Call) []coupling.Coupling { return op.CoupleAll(c, 0) },
	}
}

func bitCastKernel(c *op.Call) (op.Kernel, error) {
	to := c.Config.(BitCastConfig).To
	mask, sign := byte(1<<min(to.Bits(), 7)-1), byte(0)
	if to == dtype.Int4 || to == dtype.Int2 {
		sign = 1 << (to.Bits() - 1)
	}
	return func(x *op.Exec, out, in []*tensor.Dense) error {
		y := out[0].Raw
		kernel.Copy(pool(x), y, in[0].Raw)
		if to.Bits() < 8 { // memory holds one element in a byte, integers sign-extended
			pool(x).InParts(len(y), func(lo, hi int) {
				for i, v := range y[lo:hi] {
					y[lo+i] = v&mask ^ sign - sign
				}
			})
		}
		return nil
	}, nil
}

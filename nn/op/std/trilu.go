package std

import (
	"github.com/graft-ml/graft/internal/kernel"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/coupling"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// TriluConfig has the attribute of Trilu.
type TriluConfig struct {
	Upper *bool `onnx:"upper,nil=true"` // keep the upper triangle instead of the lower; nil: true
}

// Operator makes TriluConfig a Config.
func (TriluConfig) Operator() op.Name { return op.Name{Name: "Trilu"} }

func trilu() *op.Op {
	return &op.Op{
		Name: "Trilu", Since: []int{14},
		Doc: "Keeps the upper or lower triangle of matrices, from diagonal k on, and makes the rest zero.",
		In:  "input T, k? int64", Out: "output T", Attrs: TriluConfig{},
		Infer: func(c *op.Call) ([]op.Type, error) {
			if r := c.In[0].Rank(); r >= 0 && r < 2 {
				return nil, c.Mismatch(0, "matrices", c.In[0])
			}
			return []op.Type{c.In[0]}, nil
		},
		Kernel: triluKernel, Strings: moveStrings, Scheduling: op.Scheduling{InPlace: []int{0}},
		Grad: func(c *op.Call, in, out, dout gorgonia.Nodes) (gorgonia.Nodes, error) {
			args := append(gorgonia.Nodes{dout[0]}, in[1:]...)
			d, err := c.Apply1(c.Config, args...)
			return gorgonia.Nodes{d, nil}, err
		},
		Couple: func(c *op.Call) []coupling.Coupling {
			list := op.CoupleAll(c, 0)
			return list[:max(0, len(list)-2)]
		},
		Traits: op.Traits{Zero: op.ZeroFirst, Range: rangePadded},
	}
}

func triluKernel(c *op.Call) (op.Kernel, error) {
	s := c.In[0].Sizes()
	rows, cols, size := s[len(s)-2], s[len(s)-1], c.In[0].DType.Size()
	upper := c.Config.(TriluConfig).Upper
	return func(x *op.Exec, out, in []*tensor.Dense) error {
		k := 0
		if len(in) > 1 && in[1] != nil {
			var err error
			if k, err = firstInt(c, 1, in[1]); err != nil {
				return err
			}
		}
		k = min(max(k, -rows-1), cols+1)
		dst, src, n := out[0].Raw, in[0].Raw, cols*size
		if n == 0 {
			return nil
		}
		pool(x).Range(len(dst)/n, max(1, 16384/n), func(lo, hi int) {
			for r := lo; r < hi; r++ {
				d, from := dst[r*n:(r+1)*n], src[r*n:(r+1)*n]
				edge := r%rows + k // the first column of the upper triangle
				if upper != nil && !*upper {
					edge = min(max(edge+1, 0), cols) * size
					kernel.Copy(pool(x), d[:edge], from)
					kernel.Clear(pool(x), d[edge:])
				} else {
					edge = min(max(edge, 0), cols) * size
					kernel.Clear(pool(x), d[:edge])
					kernel.Copy(pool(x), d[edge:], from[edge:])
				}
			}
		})
		return nil
	}, nil
}

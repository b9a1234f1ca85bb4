package std

import (
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/coupling"
)

// BernoulliConfig has the attributes of Bernoulli.
type BernoulliConfig struct {
	DType op.DType `onnx:"dtype"` // of the output; undefined: the input's
	Seed  *float32 `onnx:"seed"`  // mixed into the seed of the run; nil: that alone
}

// Operator makes BernoulliConfig a Config.
func (BernoulliConfig) Operator() op.Name { return op.Name{Name: "Bernoulli"} }

func bernoulli() *op.Op {
	return &op.Op{
		Name: "Bernoulli", Since: []int{15, 22}, Doc: "1 with the probability that the input gives, otherwise 0.",
		In: "input T1", Out: "output T2", Where: op.Where{"T1": op.Floats()}, Attrs: BernoulliConfig{}, Random: true,
		Infer: func(c *op.Call) ([]op.Type, error) {
			t := c.Config.(BernoulliConfig).DType
			if t == dtype.Undefined {
				t = c.In[0].DType
			}
			if !t.IsNumeric() && t != dtype.Bool {
				return nil, c.Errorf("dtype is %v, want numbers or bool", t)
			}
			return []op.Type{c.In[0].Of(t)}, nil
		},
		Kernel: func(c *op.Call) (op.Kernel, error) {
			return randomKernel(c, c.Config.(BernoulliConfig).Seed, func(key uint64, i int, p []float64) float64 {
				if uniform(key, i) < p[i] {
					return 1
				}
				return 0
			}), nil
		},
		NoGrad: "its results are drawn", Couple: func(c *op.Call) []coupling.Coupling { return op.CoupleAll(c, 0) },
	}
}

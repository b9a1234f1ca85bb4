package op

import (
	"gorgonia.org/gorgonia"
)

// AveragePoolConfig has the attributes of AveragePool.
type AveragePoolConfig struct {
	AutoPad         string `onnx:"auto_pad,default=NOTSET"`
	CeilMode        bool   `onnx:"ceil_mode,since=10"`
	CountIncludePad bool   `onnx:"count_include_pad,since=7"` // padding counts in the divisor
	Dilations       []int  `onnx:"dilations,since=19"`
	Kernel          []int  `onnx:"kernel_shape,required"`
	Pads            []int  `onnx:"pads"`
	Strides         []int  `onnx:"strides"`
}

// Operator makes AveragePoolConfig a Config.
func (AveragePoolConfig) Operator() Name { return Name{Name: "AveragePool"} }

func (a AveragePoolConfig) pooling() pooling {
	return pooling{a.AutoPad, a.Kernel, a.Strides, a.Dilations, a.Pads, a.CeilMode, a.CountIncludePad}
}

func averagePool() *Op {
	return &Op{
		Name: "AveragePool", Since: []int{1, 7, 10, 11, 19, 22}, Versions: averagePoolVersions(),
		Doc: "Mean of each window.",
		In:  "X T", Out: "Y T", Where: Where{"T": Floats}, Attrs: AveragePoolConfig{},
		Infer: func(c *Call) ([]Type, error) { return c.inferPool(c.Config.(AveragePoolConfig).pooling()) },
		Kernel: func(c *Call) (Kernel, error) {
			s, err := c.poolShape(c.Config.(AveragePoolConfig).pooling())
			return perPrecision(c.In[0].DType, averagePooled[float32](s), averagePooled[float64](s)), err
		},
		Grad: func(c *Call, in, out, dout gorgonia.Nodes) (gorgonia.Nodes, error) {
			s, err := c.poolShape(c.Config.(AveragePoolConfig).pooling())
			if err != nil {
				return nil, err
			}
			return gradOfPool("AveragePoolGrad", c, s, 0, dout[0])
		},
		Couple: couplePool,
		Traits: pooled(rangePadded),
	}
}

// averagePoolVersions: before version 19 there are no dilations.
func averagePoolVersions() []Version {
	return []Version{{At: 19, Down: onConfig(func(n *Spelling, c *AveragePoolConfig) error {
		c.Dilations = withoutOnes(c.Dilations)
		return nil
	})}}
}

package std

import (
	"github.com/graft-ml/graft/nn/op"
	"gorgonia.org/gorgonia"
)

// AveragePoolConfig has the attributes of AveragePool.
type AveragePoolConfig struct {
	AutoPad         string `onnx:"auto_pad,default=NOTSET"`   // NOTSET, VALID, SAME_UPPER or SAME_LOWER
	CeilMode        bool   `onnx:"ceil_mode,since=10"`        // round the output size up instead of down
	CountIncludePad bool   `onnx:"count_include_pad,since=7"` // padding counts in the divisor
	Dilations       []int  `onnx:"dilations,since=19"`        // of the kernel, per spatial axis; nil: 1
	Kernel          []int  `onnx:"kernel_shape,required"`     // size of the window, per spatial axis
	Pads            []int  `onnx:"pads"`                      // elements added before each spatial axis, then after each; nil: 0
	Strides         []int  `onnx:"strides"`                   // per spatial axis; nil: 1
}

// Operator makes AveragePoolConfig a Config.
func (AveragePoolConfig) Operator() op.Name { return op.Name{Name: "AveragePool"} }

func (a AveragePoolConfig) pooling() poolAttributes {
	return poolAttributes{a.AutoPad, a.Kernel, a.Strides, a.Dilations, a.Pads, a.CeilMode, a.CountIncludePad}
}

func averagePool() *op.Op {
	return &op.Op{
		Name: "AveragePool", Since: []int{1, 7, 10, 11, 19, 22}, Versions: averagePoolVersions(),
		Doc: "Mean of each window.",
		In:  "X T", Out: "Y T", Where: op.Where{"T": op.Floats()}, Attrs: AveragePoolConfig{},
		Infer: func(c *op.Call) ([]op.Type, error) { return inferPool(c, c.Config.(AveragePoolConfig).pooling()) },
		Kernel: func(c *op.Call) (op.Kernel, error) {
			s, err := poolShape(c, c.Config.(AveragePoolConfig).pooling())
			return floatKernel(c, averagePooled[float32](s), averagePooled[float64](s)), err
		},
		Grad: func(c *op.Call, in, out, dout gorgonia.Nodes) (gorgonia.Nodes, error) {
			s, err := poolShape(c, c.Config.(AveragePoolConfig).pooling())
			if err != nil {
				return nil, err
			}
			return gradOfPool("AveragePoolGrad", c, s, 0, dout[0])
		},
		Couple: couplePool,
		Traits: sliding(pooled(rangePadded), 0, func(c *AveragePoolConfig) geometry {
			return geometry{&c.Kernel, &c.Strides, &c.Dilations, &c.Pads, &c.AutoPad}
		}),
	}
}

// averagePoolVersions: there are no dilations before version 19.
func averagePoolVersions() []op.Version {
	return []op.Version{{At: 19, Down: op.OnConfig(func(n *op.Spelling, c *AveragePoolConfig) error {
		c.Dilations = withoutOnes(c.Dilations)
		return nil
	})}}
}

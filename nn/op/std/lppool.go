package std

import (
	"github.com/graft-ml/graft/nn/op"
	"gorgonia.org/gorgonia"
)

// LpPoolConfig has the attributes of LpPool.
type LpPoolConfig struct {
	AutoPad   string `onnx:"auto_pad,default=NOTSET"` // NOTSET, VALID, SAME_UPPER or SAME_LOWER
	CeilMode  bool   `onnx:"ceil_mode,since=18"`      // round the output size up instead of down
	Dilations []int  `onnx:"dilations,since=18"`      // of the kernel, per spatial axis; nil: 1
	Kernel    []int  `onnx:"kernel_shape,required"`   // size of the window, per spatial axis
	P         int    `onnx:"p,default=2"`             // of the norm, 1 or more
	Pads      []int  `onnx:"pads"`                    // elements added before each spatial axis, then after each; nil: 0
	Strides   []int  `onnx:"strides"`                 // per spatial axis; nil: 1
}

// Operator makes LpPoolConfig a Config.
func (LpPoolConfig) Operator() op.Name { return op.Name{Name: "LpPool"} }

func (l LpPoolConfig) pooling() poolAttributes {
	return poolAttributes{autoPad: l.AutoPad, kernel: l.Kernel, strides: l.Strides, dilations: l.Dilations, pads: l.Pads, ceil: l.CeilMode}
}

func lpPool() *op.Op {
	return &op.Op{
		Name: "LpPool", Since: []int{1, 2, 11, 18, 22}, Versions: lpPoolVersions(),
		Doc: "Lp norm of each window.",
		In:  "X T", Out: "Y T", Where: op.Where{"T": op.Floats()}, Attrs: LpPoolConfig{},
		Check: func(c *op.Call) error { return normOrder(c, c.Config.(LpPoolConfig).P) },
		Infer: func(c *op.Call) ([]op.Type, error) { return inferPool(c, c.Config.(LpPoolConfig).pooling()) },
		Kernel: func(c *op.Call) (op.Kernel, error) {
			cfg := c.Config.(LpPoolConfig)
			s, err := poolShape(c, cfg.pooling())
			return floatKernel(c, lpPooled[float32](s, float64(cfg.P)), lpPooled[float64](s, float64(cfg.P))), err
		},
		Grad: func(c *op.Call, in, out, dout gorgonia.Nodes) (gorgonia.Nodes, error) {
			cfg := c.Config.(LpPoolConfig)
			s, err := poolShape(c, cfg.pooling())
			if err != nil {
				return nil, err
			}
			return gradOfPool("LpPoolGrad", c, s, float64(cfg.P), dout[0], in[0], out[0])
		},
		Couple: couplePool,
		Traits: sliding(pooled(rangeNonNegative), 0, func(c *LpPoolConfig) geometry {
			return geometry{&c.Kernel, &c.Strides, &c.Dilations, &c.Pads, &c.AutoPad}
		}),
	}
}

// normOrder checks the p of an Lp norm.
func normOrder(c *op.Call, p int) error {
	if p < 1 {
		return c.Errorf("p is %d, want 1 or more", p)
	}
	return nil
}

// lpPoolVersions: there are no dilations before version 18.
func lpPoolVersions() []op.Version {
	return []op.Version{{At: 18, Down: op.OnConfig(func(n *op.Spelling, c *LpPoolConfig) error {
		c.Dilations = withoutOnes(c.Dilations)
		return nil
	})}}
}

package std

import (
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"gorgonia.org/gorgonia"
)

// DynamicProductConfig computes DynamicQuantizeLinear, then MatMulInteger or ConvInteger with integer weights, and the
// conversion of the result to floating point: round(x/scale)·scale times (w − w_zero_point)·w_scale. Scale and zero point
// are those that DynamicQuantizeLinear computes for x; they are treated as constants, and the gradient flows straight
// through the rounding.
type DynamicProductConfig struct {
	Convolves bool       // ConvInteger rather than MatMulInteger
	Conv      ConvConfig // of ConvInteger
}

// Operator makes DynamicProductConfig a Config.
func (DynamicProductConfig) Operator() op.Name {
	return op.Name{Domain: op.Internal, Name: "DynamicProduct"}
}

func dynamicProduct() *op.Op {
	return &op.Op{
		Domain: op.Internal, Name: "DynamicProduct", Since: []int{1}, Doc: "A product of floats that are rounded as the values at hand need with integer weights; the gradient passes straight through.",
		In: "x T, scale T given, zero_point Z, w W, w_scale T, w_zero_point? W", Out: "y T", Attrs: DynamicProductConfig{},
		Where: op.Where{"T": {dtype.Float32, dtype.Float64}, "Z": bytesOnly(), "W": bytesOnly()},
		Infer: func(c *op.Call) ([]op.Type, error) {
			cfg := c.Config.(DynamicProductConfig)
			if cfg.Convolves {
				return inferProduct(c, cfg.Conv, inferConv, 3, c.In[0].DType)
			}
			return inferProduct(c, nil, inferMatMul, 3, c.In[0].DType)
		},
		Lower: lowerDynamicProduct, Pinned: "stands for several operators",
	}
}

func lowerDynamicProduct(c *op.Call, in gorgonia.Nodes) (gorgonia.Nodes, error) {
	cfg, b := c.Config.(DynamicProductConfig), composeOn(c, in)
	var product op.Config = op.Plain("MatMul")
	axis := -1
	if cfg.Convolves {
		product, axis = cfg.Conv, 0
	}
	x := b.do(FakeQuantizeConfig{To: c.In[2].DType}, in[0], in[1], in[2])
	w := b.cast(centered(c, b, in, 3, 5, axis), c.In[0].DType)
	return b.results(in, b.do(op.Plain("Mul"), b.do(product, x, w), in[4]))
}

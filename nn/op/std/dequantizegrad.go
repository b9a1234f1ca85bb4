package std

import (
	"github.com/graft-ml/graft/internal/kernel"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"gorgonia.org/gorgonia"
)

// dequantizeGradConfig is DequantizeLinear as it was called.
type dequantizeGradConfig struct {
	Axis      *int
	BlockSize int
}

func (dequantizeGradConfig) Operator() op.Name {
	return op.Name{Domain: op.Internal, Name: "DequantizeLinearGrad"}
}

// dequantizeGradient returns the gradient of the scale.
func dequantizeGradient(c *op.Call, in, out, dout gorgonia.Nodes) (gorgonia.Nodes, error) {
	cfg := c.Config.(DequantizeLinearConfig)
	grads := make(gorgonia.Nodes, len(in))
	if op.Differentiable(c.In[1]) {
		var err error
		if grads[1], err = c.Apply1(dequantizeGradConfig{cfg.Axis, cfg.BlockSize}, append(gorgonia.Nodes{dout[0]}, in...)...); err != nil {
			return nil, err
		}
	}
	return grads, nil
}

func dequantizeGradOp() *op.Op {
	return &op.Op{
		Domain: op.Internal, Name: "DequantizeLinearGrad", Since: []int{1}, Doc: "Gradient of DequantizeLinear by the scale.",
		In: "dY T3, x T1, x_scale T2, x_zero_point? T1", Out: "dScale T2", Attrs: dequantizeGradConfig{},
		Where:  op.Where{"T1": quantized(), "T2": scales(), "T3": op.Floats()},
		Infer:  func(c *op.Call) ([]op.Type, error) { return []op.Type{c.In[2]}, nil },
		Kernel: valueFunction(sumIntoScales).kernel, GradMissing: op.NotTwice, Pinned: "gradient",
	}
}

// sumIntoScales adds up (x − zero point)·dY over the elements that share a scale.
func sumIntoScales(c *op.Call) (func(*kernel.Pool, []dtype.Value) ([]dtype.Value, error), error) {
	cfg := c.Config.(dequantizeGradConfig)
	s, err := scaledOf(&op.Call{Op: dequantizeLinear(), Node: c.Node, In: c.In[1:]}, cfg.Axis, cfg.BlockSize)
	if err != nil {
		return nil, err
	}
	return func(p *kernel.Pool, in []dtype.Value) ([]dtype.Value, error) {
		var v [4][]float64 // gradient, elements, scales, zero points
		for i := range in {
			if in[i] == nil {
				continue
			}
			var err error
			if v[i], err = numbersOf(p, c, i, in[i]); err != nil {
				return nil, err
			}
		}
		dy, x, zero := v[0], v[1], v[3]
		shape := c.In[2].Sizes()
		sum := make([]float64, dtype.Product(shape))
		for i, d := range x {
			checkAt(p, i)
			k := s.at(i)
			switch {
			case len(zero) == 1:
				d -= zero[0]
			case zero != nil:
				d -= zero[k]
			}
			sum[k] += d * dy[i]
		}
		d, err := tensorOf(p, c.In[2].DType, sum, shape...)
		return []dtype.Value{d}, err
	}, nil
}

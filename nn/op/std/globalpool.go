package std

import (
	"github.com/graft-ml/graft/internal/kernel/pooling"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"gorgonia.org/gorgonia"
)

// GlobalLpPoolConfig has the attributes of GlobalLpPool.
type GlobalLpPoolConfig struct {
	P int `onnx:"p,default=2"` // of the norm, 1 or more
}

// Operator makes GlobalLpPoolConfig a Config.
func (GlobalLpPoolConfig) Operator() op.Name { return op.Name{Name: "GlobalLpPool"} }

// globalPools pool over all spatial axes, as one window that covers them laid out in a row.
func globalPools() []*op.Op {
	global := func(name, doc string, t op.Traits, since ...int) *op.Op {
		return &op.Op{
			Name: name, Doc: doc, Since: since, In: "X T", Out: "Y T", Where: op.Where{"T": op.Floats()},
			Infer: inferGlobalPool, Couple: couplePool, Traits: t,
		}
	}
	mean := global("GlobalAveragePool", "Mean over all spatial axes.", pooled(op.RangeFirst), 1, 22)
	mean.Kernel = func(c *op.Call) (op.Kernel, error) {
		s := globalShape(c)
		return floatKernel(c, averagePooled[float32](s), averagePooled[float64](s)), nil
	}
	mean.Grad = func(c *op.Call, in, out, dout gorgonia.Nodes) (gorgonia.Nodes, error) {
		return gradOfPool("AveragePoolGrad", c, globalShape(c), 0, dout[0])
	}
	most := global("GlobalMaxPool", "Maximum over all spatial axes.", pooled(op.RangeFirst), 1, 22)
	most.Hidden = func(c *op.Call) []op.Type { return []op.Type{{}, c.Out[0].Of(dtype.Int64)} }
	most.Expose = spelled(exposeGlobalMaxPool)
	most.Kernel = func(c *op.Call) (op.Kernel, error) {
		s := globalShape(c)
		return floatKernel(c, maxPooled[float32](s, nil), maxPooled[float64](s, nil)), nil
	}
	most.Grad = func(c *op.Call, in, out, dout gorgonia.Nodes) (gorgonia.Nodes, error) {
		return gradOfPool("MaxPoolGrad", c, globalShape(c), 0, dout[0], out[2])
	}
	norm := global("GlobalLpPool", "Lp norm over all spatial axes.", pooled(rangeNonNegative), 1, 2, 22)
	norm.Attrs = GlobalLpPoolConfig{}
	norm.Check = func(c *op.Call) error { return normOrder(c, c.Config.(GlobalLpPoolConfig).P) }
	norm.Kernel = func(c *op.Call) (op.Kernel, error) {
		s, p := globalShape(c), float64(c.Config.(GlobalLpPoolConfig).P)
		return floatKernel(c, lpPooled[float32](s, p), lpPooled[float64](s, p)), nil
	}
	norm.Grad = func(c *op.Call, in, out, dout gorgonia.Nodes) (gorgonia.Nodes, error) {
		return gradOfPool("LpPoolGrad", c, globalShape(c), float64(c.Config.(GlobalLpPoolConfig).P), dout[0], in[0], out[0])
	}
	return []*op.Op{mean, most, norm}
}

func inferGlobalPool(c *op.Call) ([]op.Type, error) {
	rank, err := c.Rank(0)
	if err != nil {
		return nil, err
	}
	if rank < 2 {
		return nil, c.Mismatch(0, "batch, channels and spatial axes", c.In[0])
	}
	shape := append([]op.Dim(nil), c.In[0].Shape[:2]...)
	for range c.In[0].Shape[2:] {
		shape = append(shape, op.D(1))
	}
	return []op.Type{c.In[0].With(shape...)}, nil
}

func globalShape(c *op.Call) pooling.Shape {
	n, ch, space := channels(c.In[0])
	one := []int{1}
	return pooling.Shape{
		N: n, C: ch, In: []int{space}, Kernel: []int{space}, Out: one, Stride: one, Dilation: one, PadBegin: []int{0}, PadEnd: []int{0},
	}
}

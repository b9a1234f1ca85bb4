package std

import (
	"github.com/graft-ml/graft/internal/kernel"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/coupling"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// TensorScatterConfig has the attributes of TensorScatter.
type TensorScatterConfig struct {
	Axis *int   `onnx:"axis"`                // of the cache that is written along, not 0; -2 when nil
	Mode string `onnx:"mode,default=linear"` // linear, or circular: positions past the end wrap around
}

// Operator makes TensorScatterConfig a Config.
func (TensorScatterConfig) Operator() op.Name { return op.Name{Name: "TensorScatter"} }

func tensorScatter() *op.Op {
	return &op.Op{
		Name: "TensorScatter", Since: []int{24}, Doc: "Writes an update into a cache, at a place of its own for each batch element.",
		In: "past_cache T, update T, write_indices? int64", Out: "present_cache T", Attrs: TensorScatterConfig{},
		Infer: func(c *op.Call) ([]op.Type, error) {
			if m := c.Config.(TensorScatterConfig).Mode; m != "linear" && m != "circular" {
				return nil, c.Errorf("mode %q is unknown", m)
			}
			if c.In[0].Unranked || c.In[1].Unranked {
				return op.Same(c)
			}
			_, err := cacheAxis(c)
			return []op.Type{c.In[0]}, err
		},
		Kernel: func(c *op.Call) (op.Kernel, error) { return cacheKernel(c, false) },
		Grad: func(c *op.Call, in, out, dout gorgonia.Nodes) (gorgonia.Nodes, error) {
			cfg := c.Config.(TensorScatterConfig)
			return c.ApplyN(2, cacheGradConfig{cfg}, append(gorgonia.Nodes{dout[0], in[1]}, in[2:]...)...)
		},
		Couple: func(c *op.Call) []coupling.Coupling {
			axis, err := cacheAxis(c)
			var list []coupling.Coupling
			for a := range c.In[0].Shape {
				if err == nil && a != 0 && a != axis {
					list = append(list, op.Couple(coupling.In(0, a), coupling.Out(0, a)), op.Couple(coupling.In(1, a), coupling.Out(0, a)))
				}
			}
			return list
		},
	}
}

// cacheAxis returns the axis along which is written, and a check of the shapes.
func cacheAxis(c *op.Call) (int, error) {
	attr := (*int)(nil)
	switch cfg := c.Config.(type) {
	case TensorScatterConfig:
		attr = cfg.Axis
	case cacheGradConfig:
		attr = cfg.Cache.Axis
	}
	past, update := c.In[0].Shape, c.In[1].Shape
	axis, err := c.Axis(orInt(attr, -2), len(past))
	if err != nil || axis == 0 {
		return 0, c.Errorf("axis %d of %d: want one after the batch axes", orInt(attr, -2), len(past))
	}
	if len(update) != len(past) {
		return 0, c.Mismatch(1, "the rank of the cache", c.In[1])
	}
	for a := range past {
		if a != axis && update[a].Differ(past[a]) || a == axis && update[a].Known() && past[a].Known() && update[a].Size > past[a].Size {
			return 0, c.Mismatch(1, "an update that fits "+c.In[0].String(), c.In[1])
		}
	}
	if c.Has(2) && !c.In[2].Unranked && (len(c.In[2].Shape) != 1 || c.In[2].Shape[0].Differ(past[0])) {
		return 0, c.Mismatch(2, op.T(dtype.Int64, past[0]), c.In[2])
	}
	return axis, nil
}

// cacheKernel writes the update into a copy of the cache, or, for the gradient, takes it out of
// the cache's gradient and leaves zeros there.
func cacheKernel(c *op.Call, back bool) (op.Kernel, error) {
	axis, err := cacheAxis(c)
	if err != nil {
		return nil, err
	}
	circular := false
	switch cfg := c.Config.(type) {
	case TensorScatterConfig:
		circular = cfg.Mode == "circular"
	case cacheGradConfig:
		circular = cfg.Cache.Mode == "circular"
	}
	shape, steps := c.In[0].Sizes(), c.In[1].Sizes()[axis]
	outer, inner := around(shape, axis)
	width, length := inner*c.In[0].DType.Size(), shape[axis]
	perBatch := outer / max(shape[0], 1)
	return func(x *op.Exec, out, in []*tensor.Dense) error {
		first := dtype.ElemsAt[int64](in, 2)
		for b, k := range first {
			if k < 0 || k >= int64(length) && length > 0 || !circular && int(k)+steps > length {
				return c.Errorf("cannot write %d steps from %d on into %d (batch element %d)", steps, k, length, b)
			}
		}
		if out[0] != nil {
			kernel.Copy(pool(x), out[0].Raw, in[0].Raw)
		}
		pace := pool(x).Pace()
		for o := range outer {
			from := 0
			if first != nil {
				from = int(first[o/perBatch])
			}
			for s := range steps {
				pace.Did(1 + width/8)
				at := (o*length + (from+s)%length) * width
				up := (o*steps + s) * width
				switch {
				case !back:
					copy(out[0].Raw[at:at+width], in[1].Raw[up:])
				default:
					if out[0] != nil {
						clear(out[0].Raw[at : at+width])
					}
					if out[1] != nil {
						copy(out[1].Raw[up:up+width], in[0].Raw[at:])
					}
				}
			}
		}
		return nil
	}, nil
}

type cacheGradConfig struct{ Cache TensorScatterConfig }

func (cacheGradConfig) Operator() op.Name {
	return op.Name{Domain: op.Internal, Name: "TensorScatterGrad"}
}

func tensorScatterGrad() *op.Op {
	return &op.Op{
		Domain: op.Internal, Name: "TensorScatterGrad", Since: []int{1}, Doc: "Gradient of TensorScatter.",
		In: "dY T, update T, write_indices? int64", Out: "dpast T, dupdate T", Attrs: cacheGradConfig{},
		Infer:       func(c *op.Call) ([]op.Type, error) { return []op.Type{c.In[0], c.In[1]}, nil },
		Kernel:      func(c *op.Call) (op.Kernel, error) { return cacheKernel(c, true) },
		GradMissing: op.NotTwice, Pinned: "gradient",
	}
}

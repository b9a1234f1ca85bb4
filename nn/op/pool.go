package op

import (
	"github.com/graft-ml/graft/internal/kernel"
	"github.com/graft-ml/graft/nn/dtype"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// pooling is what the attributes of all sliding pools come down to.
type pooling struct {
	autoPad                          string
	kernel, strides, dilations, pads []int
	ceil, countPad                   bool
}

// poolWindow is the geometry of a pool over input 0. Padding of a whole kernel or more would make
// windows that hold nothing.
func (c *Call) poolWindow(p pooling) (*window, error) {
	in, err := c.spatial()
	if err != nil {
		return nil, err
	}
	w, err := c.windows(in, Dims(p.kernel...), p.strides, p.dilations, p.pads, p.autoPad, p.ceil)
	if err != nil {
		return nil, err
	}
	for i := range in {
		if ext := w.extent(i).Size; w.begin[i] >= ext || w.end[i] >= ext {
			return nil, c.Errorf("padding %d+%d of spatial axis %d is not smaller than the kernel's %d", w.begin[i], w.end[i], i, ext)
		}
	}
	return w, nil
}

// inferPool is the type of the pooled tensor.
func (c *Call) inferPool(p pooling) ([]Type, error) {
	w, err := c.poolWindow(p)
	if err != nil {
		return nil, err
	}
	return c.output(append(append([]Dim(nil), c.In[0].Shape[:2]...), w.out...))
}

func (c *Call) poolShape(p pooling) (kernel.PoolShape, error) {
	w, err := c.poolWindow(p)
	if err != nil {
		return kernel.PoolShape{}, err
	}
	return kernel.PoolShape{
		N: c.In[0].Shape[0].Size, C: c.In[0].Shape[1].Size,
		In: sizes(c.In[0].Shape[2:]), Kernel: p.kernel, Out: sizes(w.out), Stride: w.stride, Dilation: w.dilation,
		PadBegin: w.begin, PadEnd: w.end, CountIncludePad: p.countPad,
	}, nil
}

// couplePool: batch and channels pass through, to the indices too, though their numbers change with a cut.
func couplePool(c *Call) []Coupling {
	var list []Coupling
	for o := range c.Outputs {
		for a := 0; a < 2 && c.Wants(o); a++ {
			list = append(list, Couple(InAxis(0, a), OutAxis(o, a)))
		}
	}
	return list
}

// poolGrad is the configuration of the gradients of pools.
type poolGrad struct {
	Name  string
	Pool  kernel.PoolShape
	Ord   float64 // LpPool
	Shape []Dim   // of X
}

func (p poolGrad) Operator() Name { return Name{Domain: Internal, Name: p.Name} }

// poolGrads are the gradients of all pools, global ones included.
func poolGrads() []*Op {
	grad := func(name, in string, f32, f64 func(poolGrad) Kernel) *Op {
		return &Op{
			Domain: Internal, Name: name + "Grad", Since: []int{1}, Doc: "Gradient of " + name + ".",
			In: Slots(in), Out: "dX T", Where: Where{"T": Floats, "I": {dtype.Int64, dtype.Uint8}}, Attrs: poolGrad{},
			GradMissing: notTwice, Pinned: "gradient",
			Infer: func(c *Call) ([]Type, error) {
				return []Type{c.In[0].With(c.Config.(poolGrad).Shape...)}, nil
			},
			Kernel: func(c *Call) (Kernel, error) {
				p := c.Config.(poolGrad)
				return perPrecision(c.In[0].DType, f32(p), f64(p)), nil
			},
		}
	}
	return []*Op{
		grad("MaxPool", "dY T, argmax I", maxPoolBack[float32], maxPoolBack[float64]),
		grad("AveragePool", "dY T", averagePoolBack[float32], averagePoolBack[float64]),
		grad("LpPool", "dY T, X T, Y T", lpPoolBack[float32], lpPoolBack[float64]),
	}
}

func maxPoolBack[T kernel.Float](p poolGrad) Kernel {
	return func(x *Exec, out, in []*tensor.Dense) error {
		if dtype.Of(in[1].Dtype()) == dtype.Uint8 {
			kernel.MaxPoolTapsGrad(pool(x), &p.Pool, elems[T](in[0]), elems[uint8](in[1]), elems[T](out[0]))
			return nil
		}
		kernel.MaxPoolGrad(pool(x), &p.Pool, elems[T](in[0]), elems[int64](in[1]), elems[T](out[0]))
		return nil
	}
}

func averagePoolBack[T kernel.Float](p poolGrad) Kernel {
	return func(x *Exec, out, in []*tensor.Dense) error {
		kernel.AveragePoolGrad(pool(x), &p.Pool, elems[T](in[0]), elems[T](out[0]))
		return nil
	}
}

func lpPoolBack[T kernel.Float](p poolGrad) Kernel {
	return func(x *Exec, out, in []*tensor.Dense) error {
		kernel.LpPoolGrad(pool(x), &p.Pool, p.Ord, elems[T](in[1]), elems[T](in[2]), elems[T](in[0]), elems[T](out[0]))
		return nil
	}
}

// averagePooled and lpPooled are the forward kernels that sliding and global pools share.
func averagePooled[T kernel.Float](s kernel.PoolShape) Kernel {
	return func(x *Exec, out, in []*tensor.Dense) error {
		kernel.AveragePool(pool(x), &s, elems[T](in[0]), elems[T](out[0]))
		return nil
	}
}

func lpPooled[T kernel.Float](s kernel.PoolShape, ord float64) Kernel {
	return func(x *Exec, out, in []*tensor.Dense) error {
		kernel.LpPool(pool(x), &s, ord, elems[T](in[0]), elems[T](out[0]))
		return nil
	}
}

// gradOfPool makes a Grad from the geometry; operands are what follows dY.
func gradOfPool(name string, c *Call, s kernel.PoolShape, ord float64, dy *gorgonia.Node, operands ...*gorgonia.Node) (gorgonia.Nodes, error) {
	d, err := c.Apply1(poolGrad{name, s, ord, c.In[0].Shape}, append(gorgonia.Nodes{dy}, operands...)...)
	return gorgonia.Nodes{d}, err
}

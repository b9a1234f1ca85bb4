package std

import (
	"github.com/graft-ml/graft/internal/kernel"
	"github.com/graft-ml/graft/internal/kernel/pooling"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/coupling"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// poolAttributes are the common attributes of all sliding pools.
type poolAttributes struct {
	autoPad                          string
	kernel, strides, dilations, pads []int
	ceil, countPad                   bool
}

// poolWindow returns the geometry of a pool over input 0. Padding of a whole kernel or more would make
// windows that hold nothing.
func poolWindow(c *op.Call, p poolAttributes) (*window, error) {
	in, err := spatialAxes(c)
	if err != nil {
		return nil, err
	}
	w, err := windows(c, in, op.Dims(p.kernel...), p.strides, p.dilations, p.pads, p.autoPad, p.ceil)
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

// inferPool returns the type of the pooled tensor.
func inferPool(c *op.Call, p poolAttributes) ([]op.Type, error) {
	w, err := poolWindow(c, p)
	if err != nil {
		return nil, err
	}
	return convOutput(c, append(append([]op.Dim(nil), c.In[0].Shape[:2]...), w.out...))
}

func poolShape(c *op.Call, p poolAttributes) (pooling.Shape, error) {
	w, err := poolWindow(c, p)
	if err != nil {
		return pooling.Shape{}, err
	}
	return pooling.Shape{
		N: c.In[0].Shape[0].Size, C: c.In[0].Shape[1].Size,
		In: op.Sizes(c.In[0].Shape[2:]), Kernel: p.kernel, Out: op.Sizes(w.out), Stride: w.stride, Dilation: w.dilation,
		PadBegin: w.begin, PadEnd: w.end, CountIncludePad: p.countPad,
	}, nil
}

// couplePool: batch and channels pass through, to the indices too, though their numbers change with a cut.
func couplePool(c *op.Call) []coupling.Coupling {
	var list []coupling.Coupling
	for o := range c.Outputs {
		for a := 0; a < 2 && c.Wants(o); a++ {
			list = append(list, op.Couple(coupling.In(0, a), coupling.Out(o, a)))
		}
	}
	return list
}

// poolGrad is the configuration of the gradients of pools.
type poolGrad struct {
	Name  string
	Pool  pooling.Shape
	Ord   float64  // LpPool
	Shape []op.Dim // of X
}

func (p poolGrad) Operator() op.Name { return op.Name{Domain: op.Internal, Name: p.Name} }

// poolGrads returns the gradients of all pools, including global ones.
func poolGrads() []*op.Op {
	grad := func(name, in string, spell func(*op.Spelling) error, f32, f64 func(poolGrad) op.Kernel) *op.Op {
		return &op.Op{
			Domain: op.Internal, Name: name + "Grad", Since: []int{1}, Doc: "Gradient of " + name + ".", Decompose: spell,
			In: op.Slots(in), Out: "dX T", Where: op.Where{"T": op.Floats(), "I": {dtype.Int64, dtype.Uint8}}, Attrs: poolGrad{},
			GradMissing: op.NotTwice, Pinned: "gradient",
			Infer: func(c *op.Call) ([]op.Type, error) {
				return []op.Type{c.In[0].With(c.Config.(poolGrad).Shape...)}, nil
			},
			Kernel: func(c *op.Call) (op.Kernel, error) {
				p := c.Config.(poolGrad)
				return floatKernel(c, f32(p), f64(p)), nil
			},
		}
	}
	return []*op.Op{
		grad("MaxPool", "dY T, argmax I", spelled(spellMaxPoolGrad), maxPoolBack[float32], maxPoolBack[float64]),
		grad("AveragePool", "dY T", spelled(spellAveragePoolGrad), averagePoolBack[float32], averagePoolBack[float64]),
		grad("LpPool", "dY T, X T, Y T", nil, lpPoolBack[float32], lpPoolBack[float64]),
	}
}

func maxPoolBack[T kernel.Float](p poolGrad) op.Kernel {
	return func(x *op.Exec, out, in []*tensor.Dense) error {
		if dtype.Of(in[1].Dtype()) == dtype.Uint8 {
			pooling.MaxTapsGrad(pool(x), &p.Pool, dtype.Elems[T](in[0]), dtype.Elems[uint8](in[1]), dtype.Elems[T](out[0]))
			return nil
		}
		pooling.MaxGrad(pool(x), &p.Pool, dtype.Elems[T](in[0]), dtype.Elems[int64](in[1]), dtype.Elems[T](out[0]))
		return nil
	}
}

func averagePoolBack[T kernel.Float](p poolGrad) op.Kernel {
	return func(x *op.Exec, out, in []*tensor.Dense) error {
		pooling.AverageGrad(pool(x), &p.Pool, dtype.Elems[T](in[0]), dtype.Elems[T](out[0]), scratch[T](x))
		return nil
	}
}

func lpPoolBack[T kernel.Float](p poolGrad) op.Kernel {
	return func(x *op.Exec, out, in []*tensor.Dense) error {
		pooling.LpGrad(pool(x), &p.Pool, p.Ord, dtype.Elems[T](in[1]), dtype.Elems[T](in[2]), dtype.Elems[T](in[0]), dtype.Elems[T](out[0]))
		return nil
	}
}

// averagePooled and lpPooled are the forward kernels that sliding and global pools share.
func averagePooled[T kernel.Float](s pooling.Shape) op.Kernel {
	return func(x *op.Exec, out, in []*tensor.Dense) error {
		pooling.Average(pool(x), &s, dtype.Elems[T](in[0]), dtype.Elems[T](out[0]), scratch[T](x))
		return nil
	}
}

func lpPooled[T kernel.Float](s pooling.Shape, ord float64) op.Kernel {
	return func(x *op.Exec, out, in []*tensor.Dense) error {
		pooling.Lp(pool(x), &s, ord, dtype.Elems[T](in[0]), dtype.Elems[T](out[0]))
		return nil
	}
}

// gradOfPool makes a Grad from the geometry; operands are the inputs after dY.
func gradOfPool(name string, c *op.Call, s pooling.Shape, ord float64, dy *gorgonia.Node, operands ...*gorgonia.Node) (gorgonia.Nodes, error) {
	d, err := c.Apply1(poolGrad{name, s, ord, c.In[0].Shape}, append(gorgonia.Nodes{dy}, operands...)...)
	return gorgonia.Nodes{d}, err
}

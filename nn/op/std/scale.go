package std

import (
	"github.com/graft-ml/graft/internal/kernel"
	"github.com/graft-ml/graft/internal/kernel/elementwise"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// scaling is the configuration of Scale.
type scaling struct{ Factor float64 }

func (scaling) Operator() op.Name { return op.Name{Domain: op.Internal, Name: "Scale"} }

// scaleBy multiplies a node by a number.
func scaleBy(c *op.Call, n *gorgonia.Node, f float64) (*gorgonia.Node, error) {
	if f == 1 {
		return n, nil
	}
	return c.Apply1(scaling{f}, n)
}

func scale() *op.Op {
	return &op.Op{
		Domain: op.Internal, Name: "Scale", Since: []int{1},
		Doc: "Multiplies by a number.", In: "X T", Out: "Y T", Where: op.Where{"T": op.Floats()},
		Attrs: scaling{}, Infer: op.Same, Scheduling: op.Scheduling{InPlace: []int{0}}, Couple: op.Elementwise,
		Kernel: func(c *op.Call) (op.Kernel, error) {
			f := c.Config.(scaling).Factor
			return floatKernel(c, scaleKernel[float32](f), scaleKernel[float64](f)), nil
		},
		Grad: func(c *op.Call, in, out, dout gorgonia.Nodes) (gorgonia.Nodes, error) {
			d, err := scaleBy(c, dout[0], c.Config.(scaling).Factor)
			return gorgonia.Nodes{d}, err
		},
		Export: func(c *op.Call) (op.Config, []dtype.Value) {
			v, err := dtype.FromFloats(c.In[0].DType, []float64{c.Config.(scaling).Factor})
			if err != nil {
				return nil, nil
			}
			return op.Plain("Mul"), []dtype.Value{v}
		},
	}
}

func scaleKernel[T kernel.Float](f float64) op.Kernel {
	return func(x *op.Exec, out, in []*tensor.Dense) error {
		elementwise.Scale(pool(x), T(f), dtype.Elems[T](out[0]), dtype.Elems[T](in[0]))
		return nil
	}
}

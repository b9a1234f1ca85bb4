package op

import (
	"github.com/graft-ml/graft/internal/kernel"
	"github.com/graft-ml/graft/nn/dtype"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// scaling is the configuration of Scale.
type scaling struct{ Factor float64 }

func (scaling) Operator() Name { return Name{Domain: Internal, Name: "Scale"} }

// scaleBy multiplies a node by a number.
func (s Set) ScaleBy(n *gorgonia.Node, f float64) (*gorgonia.Node, error) {
	if f == 1 {
		return n, nil
	}
	return s.Apply1(scaling{f}, n)
}

func scale() *Op {
	return &Op{
		Domain: Internal, Name: "Scale", Since: []int{1},
		Doc: "Multiplies by a number.", In: "X T", Out: "Y T", Where: Where{"T": Floats},
		Attrs: scaling{}, Infer: Same, InPlace: []int{0}, Couple: Elementwise,
		Kernel: func(c *Call) (Kernel, error) {
			f := c.Config.(scaling).Factor
			return perPrecision(c.In[0].DType, scaleKernel[float32](f), scaleKernel[float64](f)), nil
		},
		Grad: func(c *Call, in, out, dout gorgonia.Nodes) (gorgonia.Nodes, error) {
			d, err := c.ScaleBy(dout[0], c.Config.(scaling).Factor)
			return gorgonia.Nodes{d}, err
		},
		Export: func(c *Call) (Config, []dtype.Value) {
			v, err := dtype.FromFloats(c.In[0].DType, []float64{c.Config.(scaling).Factor})
			if err != nil {
				return nil, nil
			}
			return Plain("Mul"), []dtype.Value{v}
		},
	}
}

func scaleKernel[T kernel.Float](f float64) Kernel {
	return func(x *Exec, out, in []*tensor.Dense) error {
		kernel.Scale(pool(x), T(f), elems[T](out[0]), elems[T](in[0]))
		return nil
	}
}

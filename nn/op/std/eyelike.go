package std

import (
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"gorgonia.org/tensor"
)

// EyeLikeConfig has the attributes of EyeLike.
type EyeLikeConfig struct {
	DType op.DType `onnx:"dtype"`       // of the output; undefined: the input's
	K     int      `onnx:"k,default=0"` // the diagonal of ones: 0 main, positive above it, negative below
}

// Operator makes EyeLikeConfig a Config.
func (EyeLikeConfig) Operator() op.Name { return op.Name{Name: "EyeLike"} }

func eyeLike() *op.Op {
	return &op.Op{
		Name: "EyeLike", Since: []int{9, 22},
		Doc: "Ones on a diagonal, in the shape of the input.",
		In:  "input T1", Out: "output T2", Attrs: EyeLikeConfig{},
		Where: op.Where{"T1": append(append([]op.DType(nil), op.Numeric()...), dtype.Bool)},
		Infer: func(c *op.Call) ([]op.Type, error) {
			t := c.In[0]
			if d := c.Config.(EyeLikeConfig).DType; d != dtype.Undefined {
				if !d.IsNumeric() && d != dtype.Bool {
					return nil, c.Errorf("cannot make ones of %v", d)
				}
				t.DType = d
			}
			if !t.Unranked && len(t.Shape) != 2 {
				return nil, c.Mismatch(0, "a matrix", t)
			}
			return []op.Type{t}, nil
		},
		Kernel: func(c *op.Call) (op.Kernel, error) {
			one := dtype.New(c.Out[0].DType, 1)
			if err := dtype.Convert(one, dtype.Scalar(float32(1))); err != nil {
				return nil, err
			}
			rows, cols := c.Out[0].Shape[0].Size, c.Out[0].Shape[1].Size
			k, size := c.Config.(EyeLikeConfig).K, c.Out[0].DType.Size()
			return func(x *op.Exec, out, _ []*tensor.Dense) error {
				fillBytes(pool(x), out[0].Raw, []byte{0})
				pool(x).Range(rows, 8192, func(lo, hi int) {
					for i := lo; i < hi; i++ {
						if j := i + k; j >= 0 && j < cols {
							copy(out[0].Raw[(i*cols+j)*size:], one.Raw)
						}
					}
				})
				return nil
			}, nil
		},
		NoGrad: "constant", Pinned: "a diagonal",
	}
}

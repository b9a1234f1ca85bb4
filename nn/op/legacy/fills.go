package legacy

import (
	"slices"

	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"gorgonia.org/tensor"
)

// ConstantFillConfig has the attributes of ConstantFill.
type ConstantFillConfig struct {
	Value        float32  `onnx:"value"`                 // of all elements
	DType        op.DType `onnx:"dtype,default=float32"` // of the output: float32, int32, int64 or bool
	Shape        []int    `onnx:"shape"`                 // of the output, without an input
	Extra        []int    `onnx:"extra_shape"`           // appended to the shape in the input
	InputAsShape bool     `onnx:"input_as_shape"`        // the input's elements are the shape, rather than its shape
}

// Operator names the operator.
func (ConstantFillConfig) Operator() op.Name { return op.Name{Name: "ConstantFill"} }

// GivenTensorFillConfig has the attributes of GivenTensorFill, which are those of ConstantFill but for the values.
type GivenTensorFillConfig struct {
	Values       []float32 `onnx:"values"`         // of the output, row by row
	Shape        []int     `onnx:"shape"`          // of the output, without an input
	Extra        []int     `onnx:"extra_shape"`    // appended to the shape in the input
	InputAsShape bool      `onnx:"input_as_shape"` // the input's elements are the shape, rather than its shape
}

// Operator names the operator.
func (GivenTensorFillConfig) Operator() op.Name { return op.Name{Name: "GivenTensorFill"} }

func fills() []*op.Op {
	return []*op.Op{
		{Name: "ConstantFill", Since: []int{1}, Doc: "A tensor of equal elements, whose shape an attribute or the input tells.",
			In: "input? T1", Out: "output T2", Where: op.Where{"T2": {dtype.Float32, dtype.Int32, dtype.Int64, dtype.Bool}},
			Attrs: ConstantFillConfig{}, NoGrad: "constant", Pinned: "its shape is an attribute",
			Infer: func(c *op.Call) ([]op.Type, error) {
				cfg := c.Config.(ConstantFillConfig)
				if !slices.Contains([]op.DType{dtype.Float32, dtype.Int32, dtype.Int64, dtype.Bool}, cfg.DType) {
					return nil, c.Errorf("dtype is %v, want float32, int32, int64 or bool", cfg.DType)
				}
				return fillShape(c, cfg.DType, cfg.Shape, cfg.Extra, cfg.InputAsShape)
			},
			Kernel: func(c *op.Call) (op.Kernel, error) {
				v := float64(c.Config.(ConstantFillConfig).Value)
				return func(x *op.Exec, out, _ []*tensor.Dense) error {
					list := slices.Repeat([]float64{v}, min(out[0].Shape().TotalSize(), 1<<18))
					part := dtype.New(dtype.Of(out[0].Dtype()), len(list))
					if err := put(part, list); err != nil {
						return err
					}
					for to := out[0].Raw; len(to) > 0; to = to[copy(to, part.Raw):] {
						if err := x.Context().Err(); err != nil {
							return err
						}
					}
					return nil
				}, nil
			}},
		{Name: "GivenTensorFill", Since: []int{1}, Doc: "A tensor whose elements are an attribute, and whose shape an attribute or the input tells.",
			In: "shape? T", Out: "X float32", Attrs: GivenTensorFillConfig{}, NoGrad: "constant", Pinned: "its shape is an attribute",
			Infer: func(c *op.Call) ([]op.Type, error) {
				cfg := c.Config.(GivenTensorFillConfig)
				t, err := fillShape(c, dtype.Float32, cfg.Shape, cfg.Extra, cfg.InputAsShape)
				if err == nil && t[0].Static() && t[0].Elements() != len(cfg.Values) {
					return nil, c.Errorf("values has %d numbers, which do not fill %v", len(cfg.Values), t[0])
				}
				return t, err
			},
			Kernel: func(c *op.Call) (op.Kernel, error) {
				values := c.Config.(GivenTensorFillConfig).Values
				return func(_ *op.Exec, out, _ []*tensor.Dense) error {
					copy(dtype.Slice[float32](out[0]), values)
					return nil
				}, nil
			}},
	}
}

func put(d *tensor.Dense, x []float64) error {
	from, err := dtype.FromFloats(dtype.Float64, x, d.Shape()...)
	if err != nil {
		return err
	}
	return dtype.Convert(d, from)
}

// fillShape returns the type of a tensor of type t: its shape is that of the attribute, or the input's, or the input's elements.
func fillShape(c *op.Call, t op.DType, attr, extra []int, elements bool) ([]op.Type, error) {
	var shape []op.Dim
	switch {
	case !c.Has(0) && len(extra) > 0:
		return nil, c.Errorf("extra_shape %v needs an input", extra)
	case !c.Has(0):
		shape = op.Dims(attr...)
	case attr != nil:
		return nil, c.Errorf("has shape %v and an input, want one of them", attr)
	case elements:
		dims, err := c.Dims(0)
		if err != nil {
			return []op.Type{{DType: t, Unranked: true}}, err
		}
		shape = slices.Clone(dims)
	case c.In[0].Unranked:
		return []op.Type{{DType: t, Unranked: true}}, nil
	default:
		shape = slices.Clone(c.In[0].Shape)
	}
	for _, n := range slices.Concat(attr, extra) {
		if n < 0 {
			return nil, c.Errorf("shape %v or extra_shape %v is negative", attr, extra)
		}
	}
	return []op.Type{op.T(t, append(shape, op.Dims(extra...)...)...)}, nil
}

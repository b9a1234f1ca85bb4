package std

import (
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/trait"
	"gorgonia.org/tensor"
)

// DequantizeLinearConfig has the attributes of DequantizeLinear.
type DequantizeLinearConfig struct {
	Axis      *int     `onnx:"axis,since=13,nil=1"`           // that the scales are along; 1 when nil
	BlockSize int      `onnx:"block_size,default=0,since=21"` // elements along Axis that share a scale; 0: one scale per index of Axis, or a single one
	Output    op.DType `onnx:"output_dtype,since=23"`         // type of the output; undefined: the scale's
}

// Operator makes DequantizeLinearConfig a Config.
func (DequantizeLinearConfig) Operator() op.Name { return op.Name{Name: "DequantizeLinear"} }

func dequantizeLinear() *op.Op {
	return &op.Op{
		Name: "DequantizeLinear", Since: []int{10, 13, 19, 21, 23, 24, 25}, Versions: dequantizeVersions(), Doc: "Subtracts the zero point and multiplies with the scale.",
		In: "x T1 fixed, x_scale T2, x_zero_point? T1 fixed", Out: "y T3", Attrs: DequantizeLinearConfig{},
		Where: op.Where{"T1": quantized(), "T2": scales(), "T3": op.Floats()},
		Infer: inferDequantize, Kernel: dequantizeKernel, Grad: dequantizeGradient, Couple: coupleQuantize,
		Traits: op.Traits{Moves: trait.Moved},
	}
}

func inferDequantize(c *op.Call) ([]op.Type, error) {
	cfg := c.Config.(DequantizeLinearConfig)
	t := c.In[1].DType
	if cfg.Output != dtype.Undefined {
		t = cfg.Output
	}
	if t == dtype.Float8E8M0 || t == dtype.Int32 {
		t = dtype.Float32
	}
	out := []op.Type{c.In[0].Of(t)}
	if c.In[0].Unranked || c.In[1].Unranked {
		return out, nil
	}
	_, err := scaledOf(c, cfg.Axis, cfg.BlockSize)
	return out, err
}

func dequantizeKernel(c *op.Call) (op.Kernel, error) {
	cfg := c.Config.(DequantizeLinearConfig)
	s, err := scaledOf(c, cfg.Axis, cfg.BlockSize)
	if err != nil {
		return nil, err
	}
	if c.In[1].DType == dtype.Float32 && c.Out[0].DType == dtype.Float32 {
		switch c.In[0].DType {
		case dtype.Uint8:
			return dequantizeFast[uint8](s), nil
		case dtype.Int8:
			return dequantizeFast[int8](s), nil
		case dtype.Int32:
			return dequantizeFast[int32](s), nil
		}
	}
	return func(x *op.Exec, out, in []*tensor.Dense) error {
		scale, zero, err := scaleAndZero(in)
		if err != nil {
			return err
		}
		return inSegments(pool(x), out[0], in[0], func(lo int, dst, src *tensor.Dense) error {
			v, err := dtype.Float64s(src)
			if err != nil {
				return err
			}
			for i := range v {
				k := s.at(lo + i)
				if zero != nil {
					v[i] -= zero[k]
				}
				v[i] *= scale[k]
			}
			d, err := dtype.FromFloats(dtype.Float64, v, dst.Shape()...)
			if err != nil {
				return err
			}
			return dtype.Convert(dst, d)
		})
	}, nil
}

func dequantizeFast[T uint8 | int8 | int32](s scaled) op.Kernel {
	return func(e *op.Exec, out, in []*tensor.Dense) error {
		x, y, scale := dtype.Slice[T](in[0]), dtype.Slice[float32](out[0]), dtype.Slice[float32](in[1])
		zero := dtype.ElemsAt[T](in, 2)
		one := len(zero) == 1
		pool(e).Range(len(x), 4096, func(from, to int) {
			for i := from; i < to; i++ {
				k, z := s.at(i), int64(0)
				if one {
					z = int64(zero[0])
				} else if zero != nil {
					z = int64(zero[k])
				}
				y[i] = float32(int64(x[i])-z) * scale[k]
			}
		})
		return nil
	}
}

// dequantizeVersions: there is one scale before version 13; the result has its type before 23.
func dequantizeVersions() []op.Version {
	one := op.OnConfig(func(n *op.Spelling, c *DequantizeLinearConfig) error { c.Axis = nil; return oneScale(n) })
	typed := op.OnConfig(func(n *op.Spelling, c *DequantizeLinearConfig) error {
		if c.Output == n.DType(1) {
			c.Output = dtype.Undefined
		}
		return nil
	})
	return []op.Version{{At: 13, Down: one}, {At: 23, Down: typed}}
}

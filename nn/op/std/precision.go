package std

import (
	"slices"

	"github.com/graft-ml/graft/internal/engine"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"gorgonia.org/tensor"
)

// floatTypes are the types that operators with a gradient compute in.
var floatTypes = []op.DType{dtype.Float32, dtype.Float64}

// perPrecision picks the kernel for element type t. Types of two bytes and less are computed in
// single precision through copies.
func perPrecision(t op.DType, f32, f64 op.Kernel) op.Kernel {
	switch t {
	case dtype.Float32:
		return f32
	case dtype.Float64:
		return f64
	}
	return computeIn(dtype.Float32, f32)
}

// floatKernel is perPrecision for the element type of input 0.
func floatKernel(c *op.Call, f32, f64 op.Kernel) op.Kernel {
	return perPrecision(c.In[0].DType, f32, f64)
}

// mixedPrecision is perPrecision for operators whose inputs and outputs may have different
// floating-point types: all are converted to that of input 0.
func mixedPrecision(c *op.Call, f32, f64 op.Kernel) op.Kernel {
	t, k := dtype.Float32, f32
	if c.In[0].DType == dtype.Float64 {
		t, k = dtype.Float64, f64
	}
	for _, list := range [][]op.Type{c.In, c.Out} {
		for _, x := range list {
			if x.Present() && x.DType.IsFloat() && x.DType != t {
				return computeIn(t, k)
			}
		}
	}
	return k
}

// converted reports whether a tensor of type d takes part in a computation in t as a copy. Integers
// of more than one byte are labels, indices and lengths: they stay.
func converted(d, t op.DType) bool {
	return d != t && (d.IsFloat() || d.IsInteger() && d.Size() == 1)
}

// computeIn wraps a kernel for type t: other types are converted on the way in and out.
func computeIn(t op.DType, k op.Kernel) op.Kernel {
	return func(x *op.Exec, out, in []*tensor.Dense) error {
		size := int64(0)
		for _, v := range slices.Concat(in, out) {
			if v != nil && converted(dtype.Of(v.Dtype()), t) {
				size += int64(v.Shape().TotalSize()) * int64(t.Size())
			}
		}
		release, err := x.Reserve(size)
		if err != nil {
			return err
		}
		defer release()
		args, res := make([]*tensor.Dense, len(in)), make([]*tensor.Dense, len(out))
		for i, v := range in {
			if args[i] = v; v == nil || !converted(dtype.Of(v.Dtype()), t) {
				continue
			}
			if args[i], err = convertTo(pool(x), t, v); err != nil {
				return err
			}
		}
		for i, v := range out {
			if res[i] = v; v != nil && converted(dtype.Of(v.Dtype()), t) {
				res[i] = engine.Uncleared(t, v.Shape()...)
			}
		}
		if err := k(x, res, args); err != nil {
			return err
		}
		for i, v := range out {
			if res[i] != v {
				if err := convert(pool(x), dtype.Cast{}, v, res[i]); err != nil {
					return err
				}
			}
		}
		return nil
	}
}

// throughFloat64 wraps a kernel from one float64 tensor to another for numbers of any type, integers included.
func throughFloat64(k op.Kernel) op.Kernel {
	return func(x *op.Exec, out, in []*tensor.Dense) error {
		release, err := x.Reserve(8 * int64(in[0].Shape().TotalSize()+out[0].Shape().TotalSize()))
		if err != nil {
			return err
		}
		defer release()
		src, err := convertTo(pool(x), dtype.Float64, in[0])
		if err != nil {
			return err
		}
		dst := engine.Uncleared(dtype.Float64, out[0].Shape()...)
		if err := k(x, []*tensor.Dense{dst}, []*tensor.Dense{src}); err != nil {
			return err
		}
		return convert(pool(x), dtype.Cast{}, out[0], dst)
	}
}

// orFloat returns the value of an optional attribute. ONNX's defaults are float32, like the attributes.
func orFloat(p *float32, def float32) float64 {
	if p == nil {
		return float64(def)
	}
	return float64(*p)
}

// orInt returns the value of an optional attribute.
func orInt(p *int, def int) int {
	if p == nil {
		return def
	}
	return *p
}

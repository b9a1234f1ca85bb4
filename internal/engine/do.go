package engine

import (
	"fmt"

	"github.com/graft-ml/graft/internal/budget"
	"github.com/graft-ml/graft/internal/kernel"
	"github.com/graft-ml/graft/nn/dtype"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// Do computes all outputs of a core from values, in newly allocated memory, the way Gorgonia's machines call an Op:
// scalars are Gorgonia's scalar values where it has them.
func Do(c *Core, in []gorgonia.Value) (out []gorgonia.Value, err error) {
	return DoWith(nil, c, in)
}

// DoWith is Do with the workers and scratch memory of x.
func DoWith(x *Exec, c *Core, in []gorgonia.Value) (out []gorgonia.Value, err error) {
	out, err = Eval(x, c, in)
	for i, v := range out {
		out[i] = scalar(v)
	}
	return out, err
}

// Eval computes all outputs of a core from values, in newly allocated memory. Rank 0 is a tensor of shape ().
func Eval(x *Exec, c *Core, in []gorgonia.Value) (out []gorgonia.Value, err error) {
	defer func() {
		if r := recover(); r == (kernel.Stopped{}) {
			err = x.Context().Err()
		} else if full, ok := r.(*MemoryError); ok {
			err = full
		} else if r != nil {
			err = fmt.Errorf("panic: %v", r)
		}
	}()
	args := make([]gorgonia.Value, max(c.Inputs, len(in)))
	for k, v := range in {
		slot := k
		if c.Slots != nil {
			slot = c.Slots[k]
		}
		if args[slot], err = unscalar(v); err != nil {
			return nil, err
		}
	}
	if c.Func != nil {
		out, err = c.Func(x, args)
	} else {
		out, err = c.fresh(x, args)
	}
	return out, err
}

func (c *Core) fresh(x *Exec, args []gorgonia.Value) ([]gorgonia.Value, error) {
	ins := make([]*tensor.Dense, len(args))
	for i, v := range args {
		if v == nil {
			continue
		}
		d, ok := v.(*tensor.Dense)
		if !ok {
			return nil, fmt.Errorf("%s: input %d is a %T, want a tensor", c.Name, i, v)
		}
		ins[i] = d
	}
	outs := make([]*tensor.Dense, len(c.Out))
	res := make([]gorgonia.Value, len(c.Out))
	pace := x.Pool().Pace()
	for i, s := range c.Out {
		pace.Did(64)
		if s.DType.Type == nil {
			continue
		}
		n, err := bytesOf(s.DType, s.Shape)
		if err != nil {
			return nil, err
		}
		outs[i], err = budget.Made(n, func() *tensor.Dense { return Uncleared(dtype.Of(s.DType), s.Shape...) })
		if err != nil {
			return nil, fmt.Errorf("shape %v of %v %w", s.Shape, s.DType, err)
		}
		res[i] = outs[i]
	}
	return res, c.Kernel(x, outs, ins)
}

// scalar converts tensors of rank 0 to the form that Gorgonia's operators expect.
func scalar(v gorgonia.Value) gorgonia.Value {
	d, ok := v.(*tensor.Dense)
	if !ok || d.Dims() != 0 {
		return v
	}
	switch dtype.Of(d.Dtype()) {
	case dtype.Float32:
		return gorgonia.NewF32(dtype.Slice[float32](d)[0])
	case dtype.Float64:
		return gorgonia.NewF64(dtype.Slice[float64](d)[0])
	}
	return v
}

// unscalar converts Gorgonia's scalar values to tensors of rank 0.
func unscalar(v gorgonia.Value) (gorgonia.Value, error) {
	s, ok := v.(gorgonia.Scalar)
	if !ok {
		return v, nil
	}
	switch x := s.Data().(type) {
	case float32:
		return dtype.Scalar(x), nil
	case float64:
		return dtype.Scalar(x), nil
	case int64:
		return dtype.Scalar(x), nil
	case int32:
		return dtype.Scalar(x), nil
	case uint8:
		return dtype.Scalar(x), nil
	case bool:
		return dtype.Scalar(x), nil
	case int:
		return dtype.Scalar(int64(x)), nil
	}
	return nil, fmt.Errorf("scalar of type %T", s.Data())
}

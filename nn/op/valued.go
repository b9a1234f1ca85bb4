package op

import (
	"github.com/graft-ml/graft/nn/dtype"
	"gorgonia.org/tensor"
)

// valued prepares an operator that is written on whole values: what it does not need to know
// again at every run is worked out once. Such operators serve tensors of strings as well.
type valued func(c *Call) (func(in []dtype.Value) ([]dtype.Value, error), error)

// kernel makes it a Kernel.
func (prepare valued) kernel(c *Call) (Kernel, error) {
	f, err := prepare(c)
	if err != nil {
		return nil, err
	}
	return func(_ *Exec, out, in []*tensor.Dense) error {
		args := make([]dtype.Value, len(c.In))
		for i := range args {
			if d := in[i]; d != nil {
				args[i] = d
			}
		}
		res, err := f(args)
		if err != nil {
			return err
		}
		for i, d := range out {
			if d == nil {
				continue
			}
			r, ok := res[i].(*tensor.Dense)
			if !ok || len(r.Raw) != len(d.Raw) {
				return c.Errorf("output %d is %v, should be %v", i, TypeOf(res[i]), TypeOf(d))
			}
			copy(d.Raw, r.Raw)
		}
		return nil
	}, nil
}

// strings makes it what stands in for a Kernel on strings.
func (prepare valued) strings(c *Call, in []dtype.Value) ([]dtype.Value, error) {
	f, err := prepare(c)
	if err != nil {
		return nil, err
	}
	return f(in)
}

// numbersOf are the elements of a tensor of numbers.
func numbersOf(c *Call, i int, v dtype.Value) ([]float64, error) {
	d, ok := v.(*tensor.Dense)
	if !ok {
		return nil, c.wantGot(i, "a tensor of numbers", TypeOf(v))
	}
	return dtype.Float64s(d)
}

// tensorOf is a tensor of type t with the given numbers.
func tensorOf(t DType, v []float64, shape ...int) (*tensor.Dense, error) {
	d, err := dtype.FromFloats(dtype.Float64, v, shape...)
	if err != nil {
		return nil, err
	}
	return dtype.ConvertTo(t, d)
}

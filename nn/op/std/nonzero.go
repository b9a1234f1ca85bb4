package std

import (
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"gorgonia.org/tensor"
)

func nonZero() *op.Op {
	return &op.Op{
		Name: "NonZero", Since: []int{9, 13},
		Doc: "The coordinates of the elements that are not zero, one column each.",
		In:  "X T", Out: "Y int64",
		Where: op.Where{"T": append(append([]op.DType(nil), op.Numeric()...), dtype.Bool)},
		Infer: func(c *op.Call) ([]op.Type, error) {
			rank := op.Unknown()
			if !c.In[0].Unranked {
				rank = op.D(max(1, len(c.In[0].Shape)))
			}
			v, err := c.Value(0)
			if err != nil {
				return []op.Type{op.T(dtype.Int64, rank, op.Unknown())}, err
			}
			at, err := nonZeros(v)
			return []op.Type{op.T(dtype.Int64, rank, op.D(len(at)))}, err
		},
		Kernel: func(c *op.Call) (op.Kernel, error) {
			shape, n := c.In[0].Sizes(), c.Out[0].Shape[1].Size
			return func(_ *op.Exec, out, in []*tensor.Dense) error {
				at, err := nonZeros(in[0])
				if err != nil {
					return err
				}
				if len(at) != n {
					return c.Errorf("found %d elements, the program was compiled for %d", len(at), n)
				}
				dst := dtype.Slice[int64](out[0])
				clear(dst)
				for i, k := range at {
					for a := len(shape) - 1; a >= 0; a-- {
						dst[a*n+i] = int64(k % shape[a])
						k /= shape[a]
					}
				}
				return nil
			}, nil
		},
		NoGrad: "coordinates", Pinned: "searches elements",
	}
}

// nonZeros returns the positions of the elements that are not zero.
func nonZeros(v dtype.Value) ([]int, error) {
	d, ok := v.(*tensor.Dense)
	if !ok {
		return nil, &op.Error{Op: "NonZero", Want: "a tensor of numbers", Got: op.TypeOf(v)}
	}
	var at []int
	if dtype.DTypeOf(d).IsFloat() {
		f, err := dtype.Float64s(d)
		if err != nil {
			return nil, err
		}
		for i, x := range f {
			if x != 0 {
				at = append(at, i)
			}
		}
		return at, nil
	}
	n, err := dtype.Int64s(d)
	if err != nil {
		return nil, err
	}
	for i, x := range n {
		if x != 0 {
			at = append(at, i)
		}
	}
	return at, nil
}

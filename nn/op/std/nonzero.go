package std

import (
	"github.com/graft-ml/graft/internal/engine"
	"github.com/graft-ml/graft/internal/kernel"
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
			n, err := countNonZeros(poolOf(c), v)
			return []op.Type{op.T(dtype.Int64, rank, op.D(n))}, err
		},
		Kernel: func(c *op.Call) (op.Kernel, error) {
			shape, n := c.In[0].Sizes(), c.Out[0].Shape[1].Size
			return func(x *op.Exec, out, in []*tensor.Dense) error {
				at, err := nonZeros(pool(x), in[0])
				if err != nil {
					return err
				}
				if len(at) != n {
					return c.Errorf("found %d elements, the program was compiled for %d", len(at), n)
				}
				dst := dtype.Slice[int64](out[0])
				kernel.Clear(pool(x), dst)
				pace := pool(x).Pace()
				for i, k := range at {
					pace.Did(8 * len(shape))
					for a := len(shape) - 1; a >= 0; a-- {
						dst[a*n+i] = k % int64(shape[a])
						k /= int64(shape[a])
					}
				}
				return nil
			}, nil
		},
		NoGrad: "coordinates", Pinned: "searches elements",
	}
}

// nonZeros returns the positions of the elements that are not zero.
func nonZeros(p *kernel.Pool, v dtype.Value) ([]int64, error) {
	n, err := countNonZeros(p, v)
	if err != nil {
		return nil, err
	}
	release, err := (*engine.Exec)(nil).Reserve(8 * int64(n))
	if err != nil {
		return nil, &op.Error{Op: "NonZero", Err: err}
	}
	defer release()
	at := kernel.Uncleared[int64](n)[:0]
	d := v.(*tensor.Dense)
	is := isNonZero(d)
	for i := range len(d.Raw) / int(d.Dtype().Size()) {
		if checkAt(p, i); is(i) {
			at = append(at, int64(i))
		}
	}
	return at, nil
}

// countNonZeros returns the number of elements that are not zero.
func countNonZeros(p *kernel.Pool, v dtype.Value) (n int, err error) {
	d, ok := v.(*tensor.Dense)
	if !ok {
		return 0, &op.Error{Op: "NonZero", Want: "a tensor of numbers", Got: op.TypeOf(v)}
	}
	is := isNonZero(d)
	for i := range len(d.Raw) / int(d.Dtype().Size()) {
		if checkAt(p, i); is(i) {
			n++
		}
	}
	return n, nil
}

// isNonZero returns a function that looks at the bits of an element, without the sign of floating-point numbers: conversions would take memory.
func isNonZero(d *tensor.Dense) func(i int) bool {
	raw, size, mask := d.Raw, int(d.Dtype().Size()), byte(0xff)
	if dtype.DTypeOf(d).IsFloat() {
		mask = 0x7f
	}
	return func(i int) bool {
		b := raw[i*size:][:size]
		top := b[size-1] & mask
		for _, x := range b[:size-1] {
			top |= x
		}
		return top != 0
	}
}

package std

import (
	"github.com/graft-ml/graft/internal/engine"
	"github.com/graft-ml/graft/internal/kernel"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"gorgonia.org/tensor"
)

// moveStrings runs the kernel of an operator that only moves elements on tensors of strings, by moving
// their indices in a table. Element 0 of the table is "", with which kernels fill.
func moveStrings(c *op.Call, in []dtype.Value) ([]dtype.Value, error) {
	numbered := *c
	numbered.In, numbered.Out = numbersForStrings(c.In), numbersForStrings(c.Out)
	k, err := c.Op.Kernel(&numbered)
	if err != nil {
		return nil, err
	}
	p, size := poolOf(c), 1
	for _, v := range in {
		if s, ok := v.(*dtype.Strings); ok {
			size += len(s.Elems)
		}
	}
	n := 3 * 8 * size
	for _, t := range numbered.Out {
		if t.Present() {
			n += 3 * 8 * t.Elements()
		}
	}
	release, err := reserve(c, n)
	if err != nil {
		return nil, err
	}
	defer release()
	table, pace := make([]string, 1, size), p.Pace()
	args := make([]*tensor.Dense, len(in))
	for i, v := range in {
		switch v := v.(type) {
		case nil:
		case *tensor.Dense:
			args[i] = v
		case *dtype.Strings:
			n := make([]int64, len(v.Elems))
			for j := range n {
				pace.Did(1)
				n[j] = int64(len(table) + j)
			}
			from := len(table)
			table = table[:from+len(v.Elems)]
			kernel.Copy(p, table[from:], v.Elems)
			if args[i], err = dtype.FromSlice(n, v.Shape()...); err != nil {
				return nil, err
			}
		default:
			return nil, c.Mismatch(i, "a tensor", op.TypeOf(v))
		}
	}
	res := make([]*tensor.Dense, len(numbered.Out))
	for i, t := range numbered.Out {
		pace.Did(64)
		if t.Present() && (i >= c.Outputs || c.Wants(i)) {
			res[i] = dtype.New(t.DType, t.Sizes()...)
		}
	}
	if err := k((*op.Exec)(engine.WithContext(c.Context())), res, args); err != nil {
		return nil, err
	}
	out := make([]dtype.Value, len(res))
	for i, d := range res {
		pace.Did(64)
		switch {
		case d == nil:
		case c.Out[i].DType == dtype.String:
			s := make([]string, c.Out[i].Elements())
			for j, n := range dtype.Slice[int64](d) {
				pace.Did(2)
				s[j] = table[n]
			}
			if out[i], err = dtype.NewStrings(s, c.Out[i].Sizes()...); err != nil {
				return nil, err
			}
		default:
			out[i] = d
		}
	}
	return out, nil
}

// stringHeader is how many bytes a string takes beside its characters.
const stringHeader = 16

// reserve charges n bytes that the function of an operator allocates, until release: what it returns is charged after that.
func reserve(c *op.Call, n int) (release func(), err error) {
	if release, err = (*engine.Exec)(nil).Reserve(int64(n)); err != nil {
		return nil, c.Errorf("%w", err)
	}
	return release, nil
}

func numbersForStrings(types []op.Type) []op.Type {
	list := append([]op.Type(nil), types...)
	for i := range list {
		if list[i].DType == dtype.String {
			list[i].DType = dtype.Int64
		}
	}
	return list
}

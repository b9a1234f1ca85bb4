package std

import (
	"slices"

	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/coupling"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// OneHotConfig has the attribute of OneHot.
type OneHotConfig struct {
	Axis *int `onnx:"axis,nil=-1"` // of the output that is new, from −rank−1 to rank; nil: −1
}

// Operator makes OneHotConfig a Config.
func (OneHotConfig) Operator() op.Name { return op.Name{Name: "OneHot"} }

func oneHot() *op.Op {
	return &op.Op{
		Name: "OneHot", Since: []int{9, 11},
		Doc: "A new axis that is on at the index and off elsewhere; values holds off and on. Indices outside are off everywhere.",
		In:  "indices T1, depth T2 shape, values T3", Out: "output T3", Where: op.Where{"T1": op.Numeric(), "T2": op.Numeric()}, Attrs: OneHotConfig{},
		Infer: inferOneHot, Kernel: oneHotKernel, Strings: moveStrings, Grad: oneHotGrad,
		Couple: func(c *op.Call) []coupling.Coupling {
			axis, err := oneHotAxis(c)
			if err != nil {
				return nil
			}
			var list []coupling.Coupling
			for a := range c.In[0].Shape {
				to := a
				if a >= axis {
					to++
				}
				list = append(list, op.Couple(coupling.In(0, a), coupling.Out(0, to)))
			}
			return list
		},
	}
}

func oneHotAxis(c *op.Call) (int, error) {
	rank, err := c.Rank(0)
	if err != nil {
		return 0, err
	}
	if a := c.Config.(OneHotConfig).Axis; a != nil {
		return c.Axis(*a, rank+1)
	}
	return rank, nil
}

// oneHotDepth returns the length of the new axis. It may come as a float.
func oneHotDepth(c *op.Call) (op.Dim, error) {
	if c.In[1].DType.IsInteger() {
		d, err := c.Dims(1)
		if err != nil {
			return op.Unknown(), err
		}
		if len(d) != 1 || d[0].Sym == "" && d[0].Size < 0 {
			return op.Unknown(), c.Mismatch(1, "one positive number", dimStrings(d))
		}
		return d[0], nil
	}
	v, err := c.Value(1)
	if err != nil {
		return op.Unknown(), err
	}
	n, err := dtype.Ints(v.(*tensor.Dense))
	if err != nil {
		f, err := dtype.Float64s(v.(*tensor.Dense))
		if err != nil {
			return op.Unknown(), err
		}
		n = n[:0]
		for _, x := range f {
			n = append(n, int(x))
		}
	}
	if len(n) != 1 || n[0] < 0 {
		return op.Unknown(), c.Mismatch(1, "one positive number", n)
	}
	return op.D(n[0]), nil
}

func inferOneHot(c *op.Call) ([]op.Type, error) {
	unranked := []op.Type{{DType: c.In[2].DType, Unranked: true}}
	if c.In[0].Unranked {
		return unranked, nil
	}
	if t := c.In[2]; t.Static() && t.Elements() != 2 {
		return nil, c.Mismatch(2, "off and on", t)
	}
	axis, err := oneHotAxis(c)
	if err != nil {
		return nil, err
	}
	depth, err := oneHotDepth(c)
	return []op.Type{c.In[2].With(slices.Insert(slices.Clone(c.In[0].Shape), axis, depth)...)}, err
}

func oneHotKernel(c *op.Call) (op.Kernel, error) {
	axis, err := oneHotAxis(c)
	if err != nil {
		return nil, err
	}
	size := c.In[2].DType.Size()
	l := lanesOf(c.Out[0].Sizes(), axis)
	return func(x *op.Exec, out, in []*tensor.Dense) error {
		release, err := x.Reserve(8 * int64(in[0].Shape().TotalSize()))
		if err != nil {
			return err
		}
		defer release()
		index, err := int64s(pool(x), in[0])
		if err != nil {
			return err
		}
		dst, off, on := out[0].Raw, in[2].Raw[:size], in[2].Raw[size:2*size]
		fillBytes(pool(x), dst, off)
		pool(x).Range(len(index), 8192, func(lo, hi int) {
			for k := lo; k < hi; k++ {
				v := index[k]
				if v < 0 {
					v += int64(l.n)
				}
				if v >= 0 && v < int64(l.n) {
					copy(dst[(l.at(k)+int(v)*l.step)*size:], on)
				}
			}
		})
		return nil
	}, nil
}

// oneHotGrad returns the gradient of the two values: the sums of the gradients of on and of off elements.
func oneHotGrad(c *op.Call, in, out, dout gorgonia.Nodes) (gorgonia.Nodes, error) {
	zero, err := dtype.FromInts(c.In[2].DType, []int{0, 1}, 2)
	if err != nil {
		return nil, err
	}
	v, err := op.Const(dout[0].Graph(), zero)
	if err != nil {
		return nil, err
	}
	length, err := oneHotDepth(c)
	if err != nil {
		return nil, err
	}
	depth, err := op.Const(dout[0].Graph(), dtype.Scalar(int64(length.Size)))
	if err != nil {
		return nil, err
	}
	on, err := c.Apply1(c.Config, in[0], depth, v)
	if err != nil {
		return nil, err
	}
	picked, err := c.Apply1(op.Plain("Mul"), on, dout[0])
	if err != nil {
		return nil, err
	}
	sumOn, err := c.SumTo(picked, op.D(1))
	if err != nil {
		return nil, err
	}
	all, err := c.SumTo(dout[0], op.D(1))
	if err != nil {
		return nil, err
	}
	sumOff, err := c.Apply1(op.Plain("Sub"), all, sumOn)
	if err != nil {
		return nil, err
	}
	d, err := c.Apply1(ConcatConfig{Axis: 0}, sumOff, sumOn)
	return gorgonia.Nodes{nil, nil, d}, err
}

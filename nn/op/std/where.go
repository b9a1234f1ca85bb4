package std

import (
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/trait"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

func where() *op.Op {
	return &op.Op{
		Name: "Where", Since: []int{9, 16}, Doc: "X where the condition holds, Y elsewhere.",
		In: "condition bool, X T, Y T", Out: "output T",
		Infer: inferWhere, Dims: whereDims, Kernel: whereKernel, Strings: moveStrings, Grad: whereGrad, Couple: op.Elementwise,
		Traits: op.Traits{Zero: whereZero, Range: whereRange},
	}
}

func inferWhere(c *op.Call) ([]op.Type, error) {
	for _, t := range c.In {
		if t.Unranked {
			return []op.Type{{DType: c.In[1].DType, Unranked: true}}, nil
		}
	}
	shape, err := c.Broadcast(c.In[0].Shape, c.In[1].Shape, c.In[2].Shape)
	if err != nil {
		return nil, err
	}
	return []op.Type{c.In[1].With(shape...)}, nil
}

// whereDims picks dimensions by a condition whose value is known.
func whereDims(c *op.Call) []op.Known {
	v, err := c.Value(0)
	if err != nil {
		return nil
	}
	d, ok := v.(*tensor.Dense)
	if !ok || d.Dims() > 1 {
		return nil
	}
	cond := dtype.Slice[bool](d)
	x, err := c.Dims(1)
	if err != nil {
		return nil
	}
	y, err := c.Dims(2)
	if err != nil {
		return nil
	}
	n := max(len(cond), len(x), len(y))
	if len(cond) == 0 || len(x) == 0 || len(y) == 0 {
		return nil
	}
	out := make([]op.Dim, n)
	for i := range out {
		if out[i] = y[min(i, len(y)-1)]; cond[min(i, len(cond)-1)] {
			out[i] = x[min(i, len(x)-1)]
		}
	}
	return []op.Known{{Dims: out}}
}

func whereKernel(c *op.Call) (op.Kernel, error) {
	w, err := newWalk(c, c.Out[0].Sizes(), c.In[0].Sizes(), c.In[1].Sizes(), c.In[2].Sizes())
	if err != nil {
		return nil, err
	}
	switch c.In[1].DType.Size() {
	case 1:
		return whereOf[uint8](w), nil
	case 2:
		return whereOf[uint16](w), nil
	case 4:
		return whereOf[uint32](w), nil
	case 8:
		return whereOf[uint64](w), nil
	}
	return whereOf[[2]uint64](w), nil
}

// whereOf moves words of the elements' size.
func whereOf[T any](w *walk) op.Kernel {
	step := [3]int{}
	for k, m := range w.moves {
		if m {
			step[k] = 1
		}
	}
	return func(x *op.Exec, out, in []*tensor.Dense) error {
		dst, cond, a, b := words[T](out[0].Raw), dtype.Slice[bool](in[0]), words[T](in[1].Raw), words[T](in[2].Raw)
		if len(dst) == 0 {
			return nil
		}
		w.each(pool(x), 2, func(at, n int, off [3]int) {
			o, p, q := off[0], off[1], off[2]
			if step == ([3]int{1, 1, 1}) {
				choose(dst[at:at+n], cond[o:], a[p:], b[q:])
				return
			}
			for i := range n {
				v, u := b[q], a[p]
				if cond[o] {
					v = u
				}
				dst[at+i] = v
				o, p, q = o+step[0], p+step[1], q+step[2]
			}
		})
		return nil
	}
}

// choose is dst = a where cond holds and b elsewhere, written so that nothing jumps.
func choose[T any](dst []T, cond []bool, a, b []T) {
	cond, a, b = cond[:len(dst)], a[:len(dst)], b[:len(dst)]
	for i := range dst {
		v, u := b[i], a[i]
		if cond[i] {
			v = u
		}
		dst[i] = v
	}
}

func whereGrad(c *op.Call, in, out, dout gorgonia.Nodes) (gorgonia.Nodes, error) {
	if !c.In[1].DType.IsFloat() {
		return nil, nil
	}
	zero, err := op.Scalar(in[0].Graph(), c.In[1].DType, 0)
	if err != nil {
		return nil, err
	}
	list := make(gorgonia.Nodes, 3)
	for i, args := range []gorgonia.Nodes{{in[0], dout[0], zero}, {in[0], zero, dout[0]}} {
		d, err := c.Apply1(op.Plain("Where"), args...)
		if err == nil {
			list[i+1], err = c.SumTo(d, c.In[i+1].Shape...)
		}
		if err != nil {
			return nil, err
		}
	}
	return list, nil
}

// whereZero: both branches have to be zero.
func whereZero(c *op.Call, in op.ZeroInputs) bool {
	x, _ := in(1)
	y, _ := in(2)
	return x && y
}

func whereRange(c *op.Call, in func(i int) trait.Interval) trait.Interval { return in(1).Hull(in(2)) }

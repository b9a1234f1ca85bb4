package std

import (
	"slices"

	"github.com/graft-ml/graft/internal/kernel/layout"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/coupling"
	"github.com/graft-ml/graft/nn/op/trait"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

func expand() *op.Op {
	return &op.Op{
		Name: "Expand", Since: []int{8, 13},
		Doc: "Repeats a tensor along axes of length 1 and in front, as broadcasting does.",
		In:  "input T, shape int64 shape", Out: "output T",
		Infer: inferExpand, Dims: expandDims, Kernel: expandKernel, Strings: moveStrings,
		Grad: func(c *op.Call, in, out, dout gorgonia.Nodes) (gorgonia.Nodes, error) {
			d, err := c.SumTo(dout[0], c.In[0].Shape...)
			return gorgonia.Nodes{d, nil}, err
		},
		Couple: func(c *op.Call) []coupling.Coupling { return op.CoupleAll(c, 0) },
		Traits: opening(resizing(moved(trait.MovedOften), 1, resizeShape(1, true)), openExpand, nil),
	}
}

func inferExpand(c *op.Call) ([]op.Type, error) {
	target, err := c.Dims(1)
	if err == nil {
		err = noNegative(c, 1, target)
	}
	if err != nil {
		t := op.Type{DType: c.In[0].DType, Unranked: true}
		if s := c.In[1].Shape; len(s) == 1 && s[0].Known() && !c.In[0].Unranked && s[0].Size < 64 {
			t = t.With(anyDims(max(s[0].Size, len(c.In[0].Shape)))...)
		}
		return []op.Type{t}, err
	}
	if c.In[0].Unranked {
		return []op.Type{c.In[0]}, nil
	}
	shape, err := c.Broadcast(c.In[0].Shape, target)
	return []op.Type{c.In[0].With(shape...)}, err
}

// expandDims repeats a single known number.
func expandDims(c *op.Call) []op.Known {
	n := c.Out[0].Shape
	if len(n) > 1 || len(n) == 1 && (!n[0].Known() || n[0].Symbolic() || n[0].Size > 64) {
		return nil
	}
	k := sameElements(c)
	if k == nil || len(k[0].Dims) != 1 {
		return k
	}
	list := []op.Dim{}
	for range c.Out[0].Elements() {
		list = append(list, k[0].Dims[0])
	}
	return []op.Known{{Dims: list}}
}

func expandKernel(c *op.Call) (op.Kernel, error) {
	from, to, size := c.In[0].Sizes(), c.Out[0].Sizes(), c.In[0].DType.Size()
	return func(x *op.Exec, out, in []*tensor.Dense) error {
		layout.ExpandBytes(pool(x), out[0].Raw, in[0].Raw, from, to, size)
		return nil
	}, nil
}

// openExpand writes 1, which leaves an axis as it is, for a length that input 0 has anyway. A constant that was as long as the
// target and is no more is cut to 1, as exporters of recurrent layers leave the first state.
func openExpand(r *op.Resizing) error {
	target, ok := r.Ints(1)
	if !ok {
		return nil
	}
	axis := r.Changed()
	if axis < 0 {
		for k, n := range r.In[0].Old {
			if j := k + len(target) - len(r.In[0].Old); j >= 0 && n != 1 && target[j] > 1 && target[j] != n {
				r.KeepFirst(0, k)
			}
		}
		return nil
	}
	j := axis + len(target) - len(r.In[0].Old)
	if j < 0 || j >= len(target) || target[j] != r.In[0].Old[axis] || target[j] == 1 {
		return nil
	}
	target = slices.Clone(target)
	target[j] = 1
	r.Put(1, target)
	return nil
}

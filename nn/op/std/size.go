package std

import (
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
)

func sizeOp() *op.Op {
	return &op.Op{
		Name: "Size", Since: []int{1, 13, 19, 21, 23, 24, 25},
		Doc: "The number of elements of a tensor.",
		In:  "data T", Out: "size int64",
		Infer: func(*op.Call) ([]op.Type, error) { return []op.Type{op.Shaped(dtype.Int64)}, nil },
		Dims: func(c *op.Call) []op.Known {
			if c.In[0].Unranked {
				return nil
			}
			return knownDims([]op.Dim{op.Product(c.In[0].Shape)})
		},
		Kernel: dimsKernel, Strings: dimsOfStrings,
		NoGrad: "a size does not depend on the elements", Pinned: "reads the length of every axis",
		Traits: op.Traits{Lengths: func(*op.Call, int) (int, bool) { return -1, true }},
	}
}

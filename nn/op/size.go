package op

import "github.com/graft-ml/graft/nn/dtype"

func sizeOp() *Op {
	return &Op{
		Name: "Size", Since: []int{1, 13, 19, 21, 23, 24, 25},
		Doc: "The number of elements of a tensor.",
		In:  "data T", Out: "size int64",
		Infer: func(*Call) ([]Type, error) { return []Type{Shaped(dtype.Int64)}, nil },
		Dims: func(c *Call) []Known {
			if c.In[0].Unranked {
				return nil
			}
			return knownDims([]Dim{Product(c.In[0].Shape)})
		},
		Kernel: dimsKernel, Strings: dimsOfStrings,
		NoGrad: "a size does not depend on the elements", Pinned: "reads the length of every axis",
	}
}

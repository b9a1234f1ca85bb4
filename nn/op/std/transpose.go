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

// TransposeConfig has the attribute of Transpose: output axis i is input axis Perm[i]. Absent, it
// reverses the axes.
type TransposeConfig struct {
	Perm []int `onnx:"perm"` // a permutation of 0 … rank−1; nil: reversed
}

// Operator makes TransposeConfig a Config.
func (TransposeConfig) Operator() op.Name { return op.Name{Name: "Transpose"} }

func transpose() *op.Op {
	return &op.Op{
		Name: "Transpose", Since: []int{1, 13, 21, 23, 24, 25},
		Doc: "Permutes the axes of a tensor.",
		In:  "data T", Out: "transposed T", Attrs: TransposeConfig{},
		Infer: inferTranspose, Dims: transposeDims, Kernel: transposeKernel, Strings: moveStrings,
		Grad: transposeGrad, Couple: coupleTranspose,
		Traits: moved(trait.Moved),
	}
}

func (cfg TransposeConfig) perm(c *op.Call) ([]int, error) {
	rank, err := c.Rank(0)
	if err != nil {
		return nil, err
	}
	perm := make([]int, rank)
	if len(cfg.Perm) == 0 {
		for i := range perm {
			perm[i] = rank - 1 - i
		}
		return perm, nil
	}
	if len(cfg.Perm) != rank {
		return nil, c.Errorf("perm %v has %d axes, the input has %d", cfg.Perm, len(cfg.Perm), rank)
	}
	if _, err := c.Axes(cfg.Perm, rank); err != nil {
		return nil, err
	}
	for i, a := range cfg.Perm {
		perm[i], _ = c.Axis(a, rank)
	}
	return perm, nil
}

func inferTranspose(c *op.Call) ([]op.Type, error) {
	cfg := c.Config.(TransposeConfig)
	if c.In[0].Unranked {
		if len(cfg.Perm) > 0 {
			return []op.Type{c.In[0].With(anyDims(len(cfg.Perm))...)}, nil
		}
		return []op.Type{c.In[0]}, nil
	}
	perm, err := cfg.perm(c)
	if err != nil {
		return nil, err
	}
	shape := make([]op.Dim, len(perm))
	for i, a := range perm {
		shape[i] = c.In[0].Shape[a]
	}
	return []op.Type{c.In[0].With(shape...)}, nil
}

func transposeDims(c *op.Call) []op.Known {
	if c.In[0].Unranked || len(c.In[0].Shape) > 1 {
		return nil
	}
	return sameElements(c)
}

func transposeKernel(c *op.Call) (op.Kernel, error) {
	perm, err := c.Config.(TransposeConfig).perm(c)
	if err != nil {
		return nil, err
	}
	shape := c.In[0].Sizes()
	shape, perm = mergeAxes(shape, perm)
	if len(perm) <= 1 {
		return op.CopyKernel(c)
	}
	switch c.In[0].DType.Size() {
	case 1:
		return transposeWords[uint8](shape, perm), nil
	case 2:
		return transposeWords[uint16](shape, perm), nil
	case 4:
		return transposeWords[uint32](shape, perm), nil
	case 8:
		return transposeWords[uint64](shape, perm), nil
	}
	return transposeWords[[2]uint64](shape, perm), nil
}

func transposeWords[E any](shape, perm []int) op.Kernel {
	return func(x *op.Exec, out, in []*tensor.Dense) error {
		layout.Transpose(pool(x), words[E](out[0].Raw), words[E](in[0].Raw), shape, perm)
		return nil
	}
}

// mergeAxes drops axes of length 1 and joins axes that stay neighbours.
func mergeAxes(shape, perm []int) (s, p []int) {
	var runs [][]int // input axes that stay together, in output order
	for _, a := range perm {
		if shape[a] == 1 {
			continue
		}
		if n := len(runs); n > 0 && follows(shape, runs[n-1][len(runs[n-1])-1], a) {
			runs[n-1] = append(runs[n-1], a)
			continue
		}
		runs = append(runs, []int{a})
	}
	order := make([]int, len(runs))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return runs[a][0] - runs[b][0] })
	s, p = make([]int, len(runs)), make([]int, len(runs))
	for i, r := range order {
		s[i] = 1
		for _, a := range runs[r] {
			s[i] *= shape[a]
		}
		p[r] = i
	}
	return s, p
}

// follows reports whether axis b comes next after a but for axes of length 1.
func follows(shape []int, a, b int) bool {
	for k := a + 1; k < b; k++ {
		if shape[k] != 1 {
			return false
		}
	}
	return b > a
}

func transposeGrad(c *op.Call, in, out, dout gorgonia.Nodes) (gorgonia.Nodes, error) {
	perm, err := c.Config.(TransposeConfig).perm(c)
	if err != nil {
		return nil, err
	}
	d, err := Transposed(c.Set, dout[0], inverse(perm))
	return gorgonia.Nodes{d}, err
}

func inverse(perm []int) []int {
	inv := make([]int, len(perm))
	for i, a := range perm {
		inv[a] = i
	}
	return inv
}

// Transposed permutes the axes of a node; output axis i is axis perm[i].
func Transposed(s op.Set, n *gorgonia.Node, perm []int) (*gorgonia.Node, error) {
	if slices.IsSorted(perm) {
		return n, nil
	}
	return s.Apply1(TransposeConfig{Perm: perm}, n)
}

func coupleTranspose(c *op.Call) []coupling.Coupling {
	perm, err := c.Config.(TransposeConfig).perm(c)
	if err != nil {
		return nil
	}
	list := make([]coupling.Coupling, len(perm))
	for i, a := range perm {
		list[i] = op.Couple(coupling.In(0, a), coupling.Out(0, i))
	}
	return list
}

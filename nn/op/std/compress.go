package std

import (
	"slices"

	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/coupling"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// CompressConfig has the attribute of Compress.
type CompressConfig struct {
	Axis *int `onnx:"axis"` // from −rank to rank−1; nil: of the flattened input
}

// Operator makes CompressConfig a Config.
func (CompressConfig) Operator() op.Name { return op.Name{Name: "Compress"} }

func compress() *op.Op {
	return &op.Op{
		Name: "Compress", Since: []int{9, 11}, Versions: []op.Version{frontAxis(func(c *CompressConfig) **int { return &c.Axis })},
		Doc: "Keeps the slices of an axis for which the condition holds.",
		In:  "input T, condition bool shape", Out: "output T", Attrs: CompressConfig{},
		Infer: inferCompress, Kernel: compressKernel, Strings: moveStrings,
		Grad: compressGrad, Couple: coupleCompress,
	}
}

// compressed returns the shape of the input, flattened to a vector if there is no axis, and the axis.
func compressed(c *op.Call) ([]op.Dim, int, error) {
	rank, err := c.Rank(0)
	if err != nil {
		return nil, 0, err
	}
	if a := c.Config.(CompressConfig).Axis; a != nil {
		axis, err := c.Axis(*a, rank)
		return c.In[0].Shape, axis, err
	}
	return []op.Dim{op.Product(c.In[0].Shape)}, 0, nil
}

// kept returns the indices for which the condition holds.
func kept(c *op.Call, length op.Dim) ([]int64, error) {
	v, err := c.Value(1)
	if err != nil {
		return nil, err
	}
	list, err := nonZeros(poolOf(c), v)
	if err != nil {
		return nil, err
	}
	if i, _ := slices.BinarySearch(list, int64(length.Size)); length.Known() && i < len(list) {
		return nil, c.Errorf("the condition keeps index %d of an axis of length %v", list[i], length)
	}
	return list, nil
}

func inferCompress(c *op.Call) ([]op.Type, error) {
	if c.In[0].Unranked {
		return []op.Type{{DType: c.In[0].DType, Unranked: true}}, nil
	}
	from, axis, err := compressed(c)
	if err != nil {
		return nil, err
	}
	shape := append([]op.Dim(nil), from...)
	list, err := kept(c, shape[axis])
	if shape[axis] = op.D(len(list)); err != nil {
		shape[axis] = op.Unknown()
	}
	return []op.Type{c.In[0].With(shape...)}, err
}

func compressKernel(c *op.Call) (op.Kernel, error) {
	shape, axis, err := compressed(c)
	if err != nil {
		return nil, err
	}
	list, err := kept(c, shape[axis])
	if err != nil {
		return nil, err
	}
	outer, inner := around(op.Sizes(shape), axis)
	inner *= c.In[0].DType.Size()
	length := shape[axis].Size
	return func(x *op.Exec, out, in []*tensor.Dense) error {
		dst, src := out[0].Raw, in[0].Raw
		pace := pool(x).Pace()
		for o := range outer {
			for _, k := range list {
				pace.Did(1 + inner/4)
				from := (o*length + int(k)) * inner
				dst = dst[copy(dst, src[from:from+inner]):]
			}
		}
		return nil
	}, nil
}

func compressGrad(c *op.Call, in, out, dout gorgonia.Nodes) (gorgonia.Nodes, error) {
	shape, axis, err := compressed(c)
	if err != nil {
		return nil, err
	}
	list, err := kept(c, shape[axis])
	if err != nil {
		return nil, err
	}
	v, err := dtype.FromSlice(list, len(list))
	if err != nil {
		return nil, err
	}
	index, err := op.Const(dout[0].Graph(), v)
	if err != nil {
		return nil, err
	}
	d, err := c.Apply1(gatherGradConfig{axis, shape}, dout[0], index)
	if err == nil {
		d, err = c.ReshapeTo(d, c.In[0].Shape...)
	}
	return gorgonia.Nodes{d, nil}, err
}

func coupleCompress(c *op.Call) []coupling.Coupling {
	if c.Config.(CompressConfig).Axis == nil {
		return nil
	}
	_, axis, err := compressed(c)
	if err != nil {
		return nil
	}
	return coupleOthers(c, axis)
}

// coupleOthers returns the identity between input 0 and output 0 on every axis but one.
func coupleOthers(c *op.Call, but int) []coupling.Coupling {
	var list []coupling.Coupling
	for a := range c.In[0].Shape {
		if a != but {
			list = append(list, op.Couple(coupling.In(0, a), coupling.Out(0, a)))
		}
	}
	return list
}

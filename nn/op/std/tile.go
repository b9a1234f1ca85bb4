package std

import (
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/coupling"
	"github.com/graft-ml/graft/nn/op/trait"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

func tile() *op.Op {
	return &op.Op{
		Name: "Tile", Since: []int{1, 6, 13},
		Doc: "Repeats a tensor along each axis.",
		// In version 1 the second input is the number of repeats of one axis, the third that axis.
		In: "input T, repeats any shape, axis? any shape", Out: "output T",
		Infer: inferTile, Kernel: tileKernel, Strings: moveStrings,
		Grad: tileGrad, Couple: coupleTile,
		Traits: moved(trait.MovedOften),
	}
}

// tileCount returns the value of input i, which in version 1 has the type of the data.
func tileCount(c *op.Call, i int) ([]op.Dim, error) {
	if c.Version > 1 || !c.In[i].DType.IsFloat() {
		return c.Dims(i)
	}
	v, err := c.Value(i)
	if err != nil {
		return nil, err
	}
	n, err := dtype.Int64s(v.(*tensor.Dense))
	if err != nil {
		return nil, err
	}
	d := make([]op.Dim, len(n))
	for k, x := range n {
		d[k] = op.D(int(x))
	}
	return d, nil
}

// repeats returns how often each axis is repeated.
func repeats(c *op.Call) ([]op.Dim, error) {
	r, err := tileCount(c, 1)
	if err != nil {
		return nil, err
	}
	if err := noNegative(c, 1, r); err != nil {
		return nil, err
	}
	rank := len(c.In[0].Shape)
	if c.Version > 1 {
		if len(r) != rank {
			return nil, c.Errorf("has %d repeats for %d axes", len(r), rank)
		}
		return r, nil
	}
	if !c.Has(2) || len(r) != 1 {
		return nil, c.Errorf("version 1 takes one repeat count and one axis")
	}
	axes, err := tileCount(c, 2)
	if err != nil {
		return nil, err
	}
	all := make([]op.Dim, rank)
	for i := range all {
		all[i] = op.D(1)
	}
	for _, d := range axes {
		a, err := c.Axis(d.Size, rank)
		if err != nil {
			return nil, err
		}
		all[a] = r[0]
	}
	return all, nil
}

func inferTile(c *op.Call) ([]op.Type, error) {
	if c.In[0].Unranked {
		return []op.Type{c.In[0]}, nil
	}
	r, err := repeats(c)
	if err != nil {
		return []op.Type{c.In[0].With(anyDims(len(c.In[0].Shape))...)}, err
	}
	shape := append([]op.Dim(nil), c.In[0].Shape...)
	for i := range shape {
		shape[i] = shape[i].Mul(r[i])
	}
	return []op.Type{c.In[0].With(shape...)}, nil
}

// tileKernel reads the input with a stride of 0 for each repetition.
func tileKernel(c *op.Call) (op.Kernel, error) {
	r, err := repeats(c)
	if err != nil {
		return nil, err
	}
	from := c.In[0].Sizes()
	var s strided
	for i, st := range rowStrides(from) {
		s.shape = append(s.shape, r[i].Size, from[i])
		s.strides = append(s.strides, 0, st)
	}
	if s, err = s.merged(c); err != nil {
		return nil, err
	}
	return s.reading(c), nil
}

// tileGrad adds up the repetitions: seen as (r0, n0, r1, n1, …) they are broadcast axes.
func tileGrad(c *op.Call, in, out, dout gorgonia.Nodes) (gorgonia.Nodes, error) {
	r, err := repeats(c)
	if err != nil {
		return nil, err
	}
	var split, sum []op.Dim
	for i, n := range c.In[0].Shape {
		split = append(split, r[i], n)
		sum = append(sum, op.D(1), n)
	}
	d, err := c.ReshapeTo(dout[0], split...)
	if err == nil {
		d, err = c.SumTo(d, sum...)
	}
	if err == nil {
		d, err = c.ReshapeTo(d, c.In[0].Shape...)
	}
	return gorgonia.Nodes{d, nil, nil}, err
}

func coupleTile(c *op.Call) []coupling.Coupling {
	r, err := repeats(c)
	if err != nil {
		return nil
	}
	var list []coupling.Coupling
	for i := range c.In[0].Shape {
		k := op.Couple(coupling.In(0, i), coupling.Out(0, i))
		if r[i].Size != 1 {
			if !r[i].Known() {
				continue
			}
			k.Map = coupling.Map{Relation: coupling.Factor, Outer: r[i].Size, Inner: 1}
		}
		list = append(list, k)
	}
	return list
}

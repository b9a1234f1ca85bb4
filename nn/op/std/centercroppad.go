package std

import (
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/coupling"
	"gorgonia.org/gorgonia"
)

// CenterCropPadConfig has the attributes of CenterCropPad.
type CenterCropPadConfig struct {
	Axes []int `onnx:"axes"` // axes whose lengths shape gives; nil: all
}

// Operator makes CenterCropPadConfig a Config.
func (CenterCropPadConfig) Operator() op.Name { return op.Name{Name: "CenterCropPad"} }

func centerCropPad() *op.Op {
	return &op.Op{
		Name: "CenterCropPad", Since: []int{18}, Doc: "Cuts axes down or pads them with zeros to given lengths, around the center.",
		In: "input_data T, shape Tind shape", Out: "output_data T", Where: op.Where{"Tind": op.Indices()}, Attrs: CenterCropPadConfig{},
		Infer: func(c *op.Call) ([]op.Type, error) {
			if c.In[0].Unranked {
				return op.Same(c)
			}
			shape, _, err := cropped(c)
			if err != nil {
				return []op.Type{c.In[0].With(anyDims(len(c.In[0].Shape))...)}, err
			}
			return convOutput(c, shape)
		},
		Lower: lowerCenterCropPad,
		Couple: func(c *op.Call) []coupling.Coupling {
			_, axes, err := cropped(c)
			var list []coupling.Coupling
			for a := range c.In[0].Shape {
				if err == nil && !axes[a] {
					list = append(list, op.Couple(coupling.In(0, a), coupling.Out(0, a)))
				}
			}
			return list
		},
	}
}

// cropped returns the shape of the result and the axes that the lengths are for.
func cropped(c *op.Call) (shape []op.Dim, about map[int]bool, err error) {
	rank := len(c.In[0].Shape)
	size, err := c.Dims(1)
	if err != nil {
		return nil, nil, err
	}
	axes := c.Config.(CenterCropPadConfig).Axes
	if axes == nil {
		for a := range rank {
			axes = append(axes, a)
		}
	}
	if len(size) != len(axes) {
		return nil, nil, c.Errorf("has %d lengths for %d axes", len(size), len(axes))
	}
	if err := noNegative(c, 1, size); err != nil {
		return nil, nil, err
	}
	shape, about = append([]op.Dim(nil), c.In[0].Shape...), map[int]bool{}
	for i, a := range axes {
		if a, err = c.Axis(a, rank); err != nil {
			return nil, nil, err
		}
		if about[a] {
			return nil, nil, c.Errorf("axis %d is given twice", a)
		}
		if size[i].Sym == "" && size[i].Size > maxExtent {
			return nil, nil, c.Errorf("length %v is out of range", size[i])
		}
		about[a], shape[a] = true, size[i]
	}
	return shape, about, nil
}

func lowerCenterCropPad(c *op.Call, in gorgonia.Nodes) (gorgonia.Nodes, error) {
	b, x := composeOn(c, in), in[0]
	now, target := c.In[0].Sizes(), c.Out[0].Sizes()
	for a, n := range now { // cut everything first: less to move
		if t := target[a]; t < n {
			from := (n - t) / 2
			x = b.split(x, a, from, t, n-t-from)[1]
			now[a] = t
		}
	}
	for a, n := range now {
		t := target[a]
		if t <= n {
			continue
		}
		zeros := func(k int) (*gorgonia.Node, error) {
			s := append([]int(nil), now...)
			s[a] = k
			if c.In[0].DType == dtype.String {
				v, err := dtype.NewStrings(make([]string, dtype.Product(s)), s...)
				return b.constant(v, err), err
			}
			return b.constant(dtype.New(c.In[0].DType, s...), nil), nil
		}
		front := (t - n) / 2
		before, err := zeros(front)
		if err != nil {
			return nil, err
		}
		behind, err := zeros(t - n - front)
		if err != nil {
			return nil, err
		}
		x = b.concat(a, before, x, behind)
		now[a] = t
	}
	return b.results(in, x)
}

package std

import (
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/coupling"
	"github.com/graft-ml/graft/nn/op/trait"
)

// UnsqueezeConfig has the attribute of Unsqueeze before version 13; later the axes are the second input. They are axes
// of the output.
type UnsqueezeConfig struct {
	Axes []int `onnx:"axes,until=12"` // of the output that are new
}

// Operator makes UnsqueezeConfig a Config.
func (UnsqueezeConfig) Operator() op.Name { return op.Name{Name: "Unsqueeze"} }

func unsqueeze() *op.Op {
	return &op.Op{
		Name: "Unsqueeze", Since: []int{1, 11, 13, 21, 23, 24, 25}, Versions: unsqueezeVersions(),
		Doc: "Inserts axes of length 1.",
		In:  "data T, axes? int64 shape", Out: "expanded T", Attrs: UnsqueezeConfig{},
		Infer: inferUnsqueeze, Dims: sameElements, Scheduling: op.Scheduling{View: true}, Kernel: op.CopyKernel, Strings: moveStrings,
		Grad: reshapeGrad, Couple: coupleUnsqueeze,
		Traits: moved(trait.MovedInOrder),
	}
}

// inserted marks the output axes that are new.
func inserted(c *op.Call) ([]bool, error) {
	axes, given, err := attrOrInput(c, c.Config.(UnsqueezeConfig).Axes, 1)
	if err != nil {
		return nil, err
	}
	if !given {
		return nil, c.Errorf("has no axes")
	}
	rank := len(c.In[0].Shape) + len(axes)
	if axes, err = c.Axes(axes, rank); err != nil {
		return nil, err
	}
	is := make([]bool, rank)
	for _, a := range axes {
		is[a] = true
	}
	return is, nil
}

func inferUnsqueeze(c *op.Call) ([]op.Type, error) {
	unranked := []op.Type{{DType: c.In[0].DType, Unranked: true}}
	if c.In[0].Unranked {
		return unranked, nil
	}
	is, err := inserted(c)
	if err != nil {
		return unranked, err
	}
	shape, from := make([]op.Dim, len(is)), 0
	for i := range shape {
		if is[i] {
			shape[i] = op.D(1)
			continue
		}
		shape[i] = c.In[0].Shape[from]
		from++
	}
	return []op.Type{c.In[0].With(shape...)}, nil
}

func coupleUnsqueeze(c *op.Call) []coupling.Coupling {
	is, err := inserted(c)
	if err != nil {
		return nil
	}
	var list []coupling.Coupling
	from := 0
	for i := range is {
		if !is[i] {
			list = append(list, op.Couple(coupling.In(0, from), coupling.Out(0, i)))
			from++
		}
	}
	return list
}

// unsqueezeVersions: before version 13 the axes are an attribute. They are those of the result.
func unsqueezeVersions() []op.Version {
	axes := func(c *UnsqueezeConfig) *[]int { return &c.Axes }
	front := func(n *op.Spelling, c *UnsqueezeConfig) error { return listFromFront(n, &c.Axes, len(c.Axes)) }
	return []op.Version{{At: 11, Down: op.OnConfig(front)}, listInput(13, "axes", axes)}
}

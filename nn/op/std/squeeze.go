package std

import (
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/coupling"
	"github.com/graft-ml/graft/nn/op/trait"
)

// SqueezeConfig has the attribute of Squeeze before version 13; later the axes are the second input.
type SqueezeConfig struct {
	Axes []int `onnx:"axes,until=12"` // to remove; nil: all of length 1
}

// Operator makes SqueezeConfig a Config.
func (SqueezeConfig) Operator() op.Name { return op.Name{Name: "Squeeze"} }

func squeeze() *op.Op {
	return &op.Op{
		Name: "Squeeze", Since: []int{1, 11, 13, 21, 23, 24, 25}, Versions: squeezeVersions(),
		Doc: "Removes axes of length 1.",
		In:  "data T, axes? int64 shape", Out: "squeezed T", Attrs: SqueezeConfig{},
		Infer: inferSqueeze, Dims: sameElements, Scheduling: op.Scheduling{View: true}, Kernel: op.CopyKernel, Strings: moveStrings,
		Grad: reshapeGrad, Couple: coupleSqueeze,
		Traits: moved(trait.MovedInOrder),
	}
}

// attrOrInput returns a list of axes that is an attribute in older versions and input i in newer
// ones; given reports whether it is present.
func attrOrInput(c *op.Call, attr []int, i int) (axes []int, given bool, err error) {
	if c.Has(i) {
		axes, err = c.Ints(i)
		return axes, true, err
	}
	return attr, attr != nil, nil
}

// squeezed marks the axes that go.
func squeezed(c *op.Call) ([]bool, error) {
	rank := len(c.In[0].Shape)
	axes, given, err := attrOrInput(c, c.Config.(SqueezeConfig).Axes, 1)
	if err != nil {
		return nil, err
	}
	gone := make([]bool, rank)
	if !given {
		for i, d := range c.In[0].Shape {
			gone[i] = d.Size == 1
		}
		return gone, nil
	}
	if axes, err = c.Axes(axes, rank); err != nil {
		return nil, err
	}
	for _, a := range axes {
		if c.In[0].Shape[a].Differ(op.D(1)) {
			return nil, c.Errorf("axis %d of %v has not length 1", a, c.In[0])
		}
		gone[a] = true
	}
	return gone, nil
}

func inferSqueeze(c *op.Call) ([]op.Type, error) {
	unranked := []op.Type{{DType: c.In[0].DType, Unranked: true}}
	if c.In[0].Unranked {
		return unranked, nil
	}
	gone, err := squeezed(c)
	if err != nil {
		return unranked, err
	}
	if len(c.Config.(SqueezeConfig).Axes) == 0 && !c.Has(1) && !c.In[0].Static() {
		return unranked, nil // an open dimension may be 1
	}
	shape := []op.Dim{}
	for i, d := range c.In[0].Shape {
		if !gone[i] {
			shape = append(shape, d)
		}
	}
	return []op.Type{c.In[0].With(shape...)}, nil
}

func coupleSqueeze(c *op.Call) []coupling.Coupling {
	gone, err := squeezed(c)
	if err != nil {
		return nil
	}
	var list []coupling.Coupling
	to := 0
	for i := range c.In[0].Shape {
		if !gone[i] {
			list = append(list, op.Couple(coupling.In(0, i), coupling.Out(0, to)))
			to++
		}
	}
	return list
}

// squeezeVersions: before version 13 the axes are an attribute.
func squeezeVersions() []op.Version {
	axes := func(c *SqueezeConfig) *[]int { return &c.Axes }
	return []op.Version{{At: 11, Down: op.OnConfig(func(n *op.Spelling, c *SqueezeConfig) error { return listFromFront(n, &c.Axes, 0) })}, listInput(13, "axes", axes)}
}

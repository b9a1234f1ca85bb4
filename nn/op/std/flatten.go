package std

import (
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/trait"
)

// FlattenConfig has the attributes of Flatten. Axis is 1 when nil.
type FlattenConfig struct {
	Axis *int `onnx:"axis,nil=1"` // first axis of the second dimension, from −rank to rank; 1 when nil
}

// Operator makes FlattenConfig a Config.
func (FlattenConfig) Operator() op.Name { return op.Name{Name: "Flatten"} }

func flatten() *op.Op {
	return &op.Op{
		Name: "Flatten", Since: []int{1, 9, 11, 13, 21, 23, 24, 25}, Versions: []op.Version{frontAxis(func(c *FlattenConfig) **int { return &c.Axis })},
		Doc: "Takes the axes before and from an axis on together: a matrix.",
		In:  "input T", Out: "output T", Attrs: FlattenConfig{},
		Infer: func(c *op.Call) ([]op.Type, error) {
			if c.In[0].Unranked {
				return []op.Type{c.In[0].With(op.Unknown(), op.Unknown())}, nil
			}
			axis, err := flattenAxis(c)
			if err != nil {
				return nil, err
			}
			s := c.In[0].Shape
			return []op.Type{c.In[0].With(op.Product(s[:axis]), op.Product(s[axis:]))}, nil
		},
		Scheduling: op.Scheduling{View: true}, Kernel: op.CopyKernel, Strings: moveStrings, Grad: reshapeGrad, Couple: coupleResplit,
		Traits: moved(trait.MovedInOrder),
	}
}

// flattenAxis returns the number of axes that make the rows, all of them included.
func flattenAxis(c *op.Call) (int, error) {
	rank, axis := len(c.In[0].Shape), orInt(c.Config.(FlattenConfig).Axis, 1)
	if axis < -rank || axis > rank {
		return 0, c.Errorf("axis %d is outside of [%d, %d]", axis, -rank, rank)
	}
	if axis < 0 {
		axis += rank
	}
	return axis, nil
}

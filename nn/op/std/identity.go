package std

import (
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/trait"
	"gorgonia.org/gorgonia"
)

func identity() *op.Op {
	return &op.Op{
		Name: "Identity", Since: []int{1, 13, 14, 16, 19, 21, 23, 24, 25}, Doc: "Gives its input back.",
		In: "input V", Out: "output V", Infer: op.Same,
		Dims: func(c *op.Call) []op.Known {
			if len(c.Known) == 0 {
				return nil
			}
			return []op.Known{c.Known[0]}
		},
		Scheduling: op.Scheduling{View: true}, Kernel: op.CopyKernel, Strings: copyValue,
		Grad: func(c *op.Call, in, out, dout gorgonia.Nodes) (gorgonia.Nodes, error) {
			return gorgonia.Nodes{dout[0]}, nil
		},
		Couple: op.Elementwise,
		Traits: op.Traits{Zero: op.ZeroFirst, Range: op.RangeFirst, Moves: trait.MovedInOrder, Keeps: keepsAll, Removable: true},
	}
}

// copyValue returns a copy of strings or of a container, whose items are shared, since they never change.
func copyValue(c *op.Call, in []dtype.Value) ([]dtype.Value, error) {
	switch v := in[0].(type) {
	case *dtype.Strings:
		s, err := dtype.NewStrings(append([]string(nil), v.Elems...), v.Dims...)
		return []dtype.Value{s}, err
	case *dtype.Sequence:
		return []dtype.Value{&dtype.Sequence{Elem: v.Elem, Items: append([]dtype.Value(nil), v.Items...)}}, nil
	case *dtype.Map:
		m := *v
		return []dtype.Value{&m}, nil
	case *dtype.Optional:
		o := *v
		return []dtype.Value{&o}, nil
	}
	return in[:1], nil
}

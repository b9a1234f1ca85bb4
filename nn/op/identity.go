package op

import (
	"github.com/graft-ml/graft/nn/dtype"
	"gorgonia.org/gorgonia"
)

func identity() *Op {
	return &Op{
		Name: "Identity", Since: []int{1, 13, 14, 16, 19, 21, 23, 24, 25}, Doc: "Gives its input back.",
		In: "input V", Out: "output V", Infer: Same,
		Dims: func(c *Call) []Known {
			if len(c.Known) == 0 {
				return nil
			}
			return []Known{c.Known[0]}
		},
		View: true, Kernel: copyKernel, Strings: copyValue,
		Grad: func(c *Call, in, out, dout gorgonia.Nodes) (gorgonia.Nodes, error) {
			return gorgonia.Nodes{dout[0]}, nil
		},
		Couple: Elementwise,
		Traits: Traits{Zero: ZeroFirst, Range: RangeFirst, Moves: Moved, Keeps: keepsAll, Removable: true},
	}
}

// copyValue gives back a copy of strings or of a container, whose items nobody changes.
func copyValue(c *Call, in []dtype.Value) ([]dtype.Value, error) {
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

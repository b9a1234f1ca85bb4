package std

import (
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
)

// ConcatFromSequenceConfig has the attributes of ConcatFromSequence.
type ConcatFromSequenceConfig struct {
	Axis    int  `onnx:"axis,required"` // that the tensors are joined along, or the new axis
	NewAxis bool `onnx:"new_axis"`      // stack the tensors along a new axis
}

// Operator makes ConcatFromSequenceConfig a Config.
func (ConcatFromSequenceConfig) Operator() op.Name { return op.Name{Name: "ConcatFromSequence"} }

func concatFromSequence() *op.Op {
	return &op.Op{
		Name: "ConcatFromSequence", Since: []int{11},
		Doc: "Puts the tensors of a sequence behind one another.",
		In:  "input_sequence S", Out: "concat_result T", Attrs: ConcatFromSequenceConfig{},
		Infer: func(c *op.Call) ([]op.Type, error) {
			e, err := elemOf(c, 0)
			if err != nil {
				return nil, err
			}
			v, err := c.Value(0)
			if err != nil { // the shape follows from the value: nothing is asked for, it cannot be lowered anyway
				return []op.Type{{DType: e.DType, Unranked: true}}, nil
			}
			out, err := c.Op.Func(c, []dtype.Value{v})
			if err != nil {
				return nil, err
			}
			return []op.Type{op.TypeOf(out[0])}, nil
		},
		Func: func(c *op.Call, in []dtype.Value) ([]dtype.Value, error) {
			cfg := c.Config.(ConcatFromSequenceConfig)
			s, err := sequenceOf(c, in)
			if err != nil {
				return nil, err
			}
			if len(s.Items) == 0 {
				return nil, c.Errorf("the sequence has no element")
			}
			var out dtype.Value
			if cfg.NewAxis {
				out, err = stackValues(c, s.Items, cfg.Axis)
			} else {
				out, err = compute1(c, ConcatConfig{Axis: cfg.Axis}, 13, s.Items...)
			}
			return []dtype.Value{out}, err
		},
		Items: concatItems, Pinned: "a sequence",
	}
}

package op

import (
	"slices"

	"github.com/graft-ml/graft/nn/dtype"
	"gorgonia.org/tensor"
)

// SplitToSequenceConfig has the attributes of SplitToSequence. Without the second input parts
// have length 1, and KeepDims says whether they keep that axis.
type SplitToSequenceConfig struct {
	Axis     int   `onnx:"axis,default=0"`
	KeepDims *bool `onnx:"keepdims"` // nil: true
}

// Op makes SplitToSequenceConfig a Config.
func (SplitToSequenceConfig) Op() *Op { return standard("", "SplitToSequence") }

func splitToSequence() *Op {
	return &Op{
		Name: "SplitToSequence", Since: []int{11, 24},
		Doc: "Cuts a tensor into a sequence: parts of one length, or of given lengths.",
		In:  "input T, split? I", Out: "output_sequence S", Where: Where{"I": Indices}, Attrs: SplitToSequenceConfig{},
		Infer: func(c *Call) ([]Type, error) {
			return []Type{seqType(Type{DType: c.In[0].DType, Unranked: true})}, nil
		},
		Func: splitIntoSequence, GradMissing: notThroughSequences, Pinned: "a sequence",
	}
}

func splitIntoSequence(c *Call, in []dtype.Value) ([]dtype.Value, error) {
	cfg := c.Config.(SplitToSequenceConfig)
	shape := in[0].Shape()
	axis, err := c.Axis(cfg.Axis, len(shape))
	if err != nil {
		return nil, err
	}
	length, lengths := shape[axis], []int(nil)
	drop := false
	switch {
	case len(in) < 2 || in[1] == nil:
		lengths = slices.Repeat([]int{1}, length)
		drop = cfg.KeepDims != nil && !*cfg.KeepDims
	default:
		d, ok := in[1].(*tensor.Dense)
		if !ok {
			return nil, c.wantGot(1, "lengths", TypeOf(in[1]))
		}
		if lengths, err = dtype.Ints(d); err != nil {
			return nil, err
		}
		if len(d.Shape()) == 0 {
			if lengths[0] < 1 {
				return nil, c.Errorf("cannot split into parts of length %d", lengths[0])
			}
			each := lengths[0]
			lengths = nil
			for at := 0; at < length; at += each {
				lengths = append(lengths, min(each, length-at))
			}
		}
	}
	seq := &dtype.Sequence{Elem: dtype.DTypeOf(in[0])}
	at := 0
	for _, n := range lengths {
		if n < 0 || at+n > length {
			return nil, c.Errorf("lengths %v do not fit an axis of length %d", lengths, length)
		}
		part, err := compute1(SliceConfig{Starts: []int{at}, Ends: []int{at + n}, Axes: []int{axis}}, 1, in[0])
		if err == nil && drop {
			part, err = compute1(SqueezeConfig{Axes: []int{axis}}, 1, part)
		}
		if err != nil {
			return nil, err
		}
		seq.Items = append(seq.Items, part)
		at += n
	}
	if at != length {
		return nil, c.Errorf("lengths %v do not fill an axis of length %d", lengths, length)
	}
	return []dtype.Value{seq}, nil
}

package std

import (
	"slices"

	"github.com/graft-ml/graft/internal/engine"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"gorgonia.org/tensor"
)

// SplitToSequenceConfig has the attributes of SplitToSequence. Without split the tensors have length 1 along Axis.
type SplitToSequenceConfig struct {
	Axis     int   `onnx:"axis,default=0"`    // from −rank to rank−1
	KeepDims *bool `onnx:"keepdims,nil=true"` // without split: keep the axis, with length 1; nil: true
}

// Operator makes SplitToSequenceConfig a Config.
func (SplitToSequenceConfig) Operator() op.Name { return op.Name{Name: "SplitToSequence"} }

func splitToSequence() *op.Op {
	return &op.Op{
		Name: "SplitToSequence", Since: []int{11, 24},
		Doc: "Cuts a tensor into a sequence: parts of one length, or of given lengths.",
		In:  "input T, split? I", Out: "output_sequence S", Where: op.Where{"I": op.Indices()}, Attrs: SplitToSequenceConfig{},
		Infer: func(c *op.Call) ([]op.Type, error) {
			return []op.Type{seqType(op.Type{DType: c.In[0].DType, Unranked: true})}, nil
		},
		Func: splitIntoSequence, Items: splitItems, Pinned: "a sequence",
	}
}

// splitLengths returns the axis that is split and the lengths of the parts; drop reports that they lose it.
func splitLengths(c *op.Call, shape []int, split dtype.Value) (axis int, lengths []int, drop bool, err error) {
	cfg := c.Config.(SplitToSequenceConfig)
	if axis, err = c.Axis(cfg.Axis, len(shape)); err != nil {
		return 0, nil, false, err
	}
	length := shape[axis]
	if split == nil {
		if err := fitParts(c, length); err != nil {
			return 0, nil, false, err
		}
		return axis, slices.Repeat([]int{1}, length), cfg.KeepDims != nil && !*cfg.KeepDims, nil
	}
	d, ok := split.(*tensor.Dense)
	if !ok {
		return 0, nil, false, c.Mismatch(1, "lengths", op.TypeOf(split))
	}
	if lengths, err = dtype.Ints(d); err != nil {
		return 0, nil, false, err
	}
	if len(d.Shape()) == 0 {
		each := lengths[0]
		if each < 1 {
			return 0, nil, false, c.Errorf("cannot split into parts of length %d", each)
		}
		if err := fitParts(c, 1+(length-1)/each); err != nil {
			return 0, nil, false, err
		}
		lengths = nil
		for at := 0; at < length; at += each {
			lengths = append(lengths, min(each, length-at))
		}
	}
	rest := length
	for _, n := range lengths {
		if rest -= n; n < 0 || rest < 0 {
			break
		}
	}
	if rest != 0 || slices.ContainsFunc(lengths, func(n int) bool { return n < 0 }) {
		return 0, nil, false, c.Errorf("lengths %v do not fill an axis of length %d", lengths, length)
	}
	return axis, lengths, false, nil
}

// partMemory is about how many bytes a part of a tensor takes beside its elements, with its type and what it is cut off by.
const partMemory = 640

// fitParts returns an error if n parts cannot be charged.
func fitParts(c *op.Call, n int) error {
	if err := engine.Fits(partMemory * float64(n)); err != nil {
		return c.Errorf("%d parts: %w", n, err)
	}
	return nil
}

func splitIntoSequence(c *op.Call, in []dtype.Value) ([]dtype.Value, error) {
	var split dtype.Value
	if len(in) > 1 {
		split = in[1]
	}
	axis, lengths, drop, err := splitLengths(c, in[0].Shape(), split)
	if err != nil {
		return nil, err
	}
	release, err := reserve(c, partMemory*len(lengths))
	if err != nil {
		return nil, err
	}
	defer release()
	seq := &dtype.Sequence{Elem: dtype.DTypeOf(in[0])}
	if len(lengths) == 0 {
		return []dtype.Value{seq}, nil
	}
	if seq.Items, err = c.Compute(len(lengths), SplitConfig{Axis: axis, Split: lengths}, 11, in[0]); err != nil || !drop {
		return []dtype.Value{seq}, err
	}
	pace := poolOf(c).Pace()
	for i, part := range seq.Items {
		pace.Did(partWork)
		if seq.Items[i], err = reshaped(part, slices.Delete(slices.Clone([]int(part.Shape())), axis, axis+1)); err != nil {
			return nil, err
		}
	}
	return []dtype.Value{seq}, nil
}

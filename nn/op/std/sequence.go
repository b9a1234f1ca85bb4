package std

import (
	"slices"

	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"gorgonia.org/tensor"
)

// seqType returns a sequence of elem.
func seqType(elem op.Type) op.Type { return op.Type{Kind: op.Sequence, Elem: &elem} }

// elemOf returns the type of the elements of input i, a sequence.
func elemOf(c *op.Call, i int) (op.Type, error) {
	if c.In[i].Kind != op.Sequence || c.In[i].Elem == nil {
		return op.Type{}, c.Mismatch(i, "a sequence", c.In[i])
	}
	return *c.In[i].Elem, nil
}

// common returns what two types have in common.
func common(a, b op.Type) op.Type {
	switch {
	case a.Kind != b.Kind || a.Kind != op.Tensor:
		return a
	case a.Unranked || b.Unranked || len(a.Shape) != len(b.Shape):
		return op.Type{DType: a.DType, Unranked: true}
	}
	shape := make([]op.Dim, len(a.Shape))
	for i, d := range a.Shape {
		if shape[i] = op.Unknown(); d.Same(b.Shape[i]) {
			shape[i] = d
			if d.Sym != b.Shape[i].Sym {
				shape[i].Sym = ""
			}
		}
	}
	return a.With(shape...)
}

// sequenceOf returns the first input, or an error.
func sequenceOf(c *op.Call, in []dtype.Value) (*dtype.Sequence, error) {
	s, ok := in[0].(*dtype.Sequence)
	if !ok {
		return nil, c.Mismatch(0, "a sequence", op.TypeOf(in[0]))
	}
	return s, nil
}

// sequencePosition returns the position of input i in [0, n); if it is absent, the last one.
func sequencePosition(c *op.Call, in []dtype.Value, i, n int) (int, error) {
	if i >= len(in) || in[i] == nil {
		return n - 1, nil
	}
	d, ok := in[i].(*tensor.Dense)
	if !ok {
		return 0, c.Mismatch(i, "an index", op.TypeOf(in[i]))
	}
	k, err := firstInt(c, i, d)
	if err != nil {
		return 0, err
	}
	if k < -n || k >= n {
		return 0, c.Errorf("position %d is outside of [%d, %d]", k, -n, n-1)
	}
	if k < 0 {
		k += n
	}
	return k, nil
}

// SequenceEmptyConfig has the attribute of SequenceEmpty.
type SequenceEmptyConfig struct {
	DType op.DType `onnx:"dtype,default=float32"` // element type of the tensors it can hold
}

// Operator makes SequenceEmptyConfig a Config.
func (SequenceEmptyConfig) Operator() op.Name { return op.Name{Name: "SequenceEmpty"} }

func sequenceOps() []*op.Op {
	index := op.Where{"I": op.Indices()}
	list := []*op.Op{
		{Name: "SequenceEmpty", Doc: "A sequence without elements.", Out: "output S", Attrs: SequenceEmptyConfig{}, NoGrad: "constant",
			Items: func(c *op.Call, _ []op.Item) ([]op.Item, error) { return []op.Item{{Type: c.Out[0]}}, nil },
			Infer: func(c *op.Call) ([]op.Type, error) {
				return []op.Type{seqType(op.Type{DType: c.Config.(SequenceEmptyConfig).DType, Unranked: true})}, nil
			},
			Func: func(c *op.Call, in []dtype.Value) ([]dtype.Value, error) {
				return []dtype.Value{&dtype.Sequence{Elem: c.Config.(SequenceEmptyConfig).DType}}, nil
			}},
		{Name: "SequenceConstruct", Doc: "A sequence of the inputs.", In: "inputs* T", Out: "output_sequence S",
			Infer: inferSequenceConstruct,
			Items: func(c *op.Call, in []op.Item) ([]op.Item, error) {
				return []op.Item{{Type: c.Out[0], Items: slices.Clone(in)}}, nil
			},
			Func: func(c *op.Call, in []dtype.Value) ([]dtype.Value, error) {
				return []dtype.Value{&dtype.Sequence{Elem: dtype.DTypeOf(in[0]), Items: slices.Clone(in)}}, nil
			}},
		{Name: "SequenceAt", Doc: "One element of a sequence.", In: "input_sequence S, position I", Out: "tensor T", Where: index,
			Infer: inferSequenceAt, Items: sequenceAtItems,
			Func: func(c *op.Call, in []dtype.Value) ([]dtype.Value, error) {
				s, err := sequenceOf(c, in)
				if err != nil {
					return nil, err
				}
				k, err := sequencePosition(c, in, 1, len(s.Items))
				if err != nil {
					return nil, err
				}
				return []dtype.Value{s.Items[k]}, nil
			}},
		{Name: "SequenceInsert", Doc: "A sequence with one more element: at the position, or at the end.",
			In: "input_sequence S, tensor T, position? I", Out: "output_sequence S", Where: index,
			Infer: func(c *op.Call) ([]op.Type, error) {
				e, err := elemOf(c, 0)
				if err != nil {
					return nil, err
				}
				if e.DType != dtype.Undefined && e.DType != c.In[1].DType {
					return nil, c.Mismatch(1, e.DType, c.In[1])
				}
				return []op.Type{seqType(op.Type{DType: c.In[1].DType, Unranked: true})}, nil
			},
			Items: sequenceInsertItems, Func: sequenceInsert},
		{Name: "SequenceErase", Doc: "A sequence without the element at the position, or without the last.",
			In: "input_sequence S, position? I", Out: "output_sequence S", Where: index,
			Infer: op.Same, Items: sequenceEraseItems,
			Func: func(c *op.Call, in []dtype.Value) ([]dtype.Value, error) {
				s, err := sequenceOf(c, in)
				if err != nil {
					return nil, err
				}
				if len(s.Items) == 0 {
					return nil, c.Errorf("the sequence has no element")
				}
				k, err := sequencePosition(c, in, 1, len(s.Items))
				if err != nil {
					return nil, err
				}
				return []dtype.Value{&dtype.Sequence{Elem: s.Elem, Items: slices.Delete(slices.Clone(s.Items), k, k+1)}}, nil
			}},
		{Name: "SequenceLength", Doc: "The number of elements of a sequence.", In: "input_sequence S", Out: "length int64", NoGrad: "a number of elements", Items: sequenceLengthItems,
			Infer: func(*op.Call) ([]op.Type, error) { return []op.Type{op.Shaped(dtype.Int64)}, nil },
			Func: func(c *op.Call, in []dtype.Value) ([]dtype.Value, error) {
				s, err := sequenceOf(c, in)
				if err != nil {
					return nil, err
				}
				return []dtype.Value{dtype.Scalar(int64(len(s.Items)))}, nil
			}},
	}
	for _, o := range list {
		o.Since, o.Pinned = []int{11}, "a sequence"
	}
	return list
}

func inferSequenceConstruct(c *op.Call) ([]op.Type, error) {
	if len(c.In) == 0 {
		return nil, c.Errorf("has no inputs")
	}
	e := c.In[0]
	for i, t := range c.In[1:] {
		if i%1024 == 1023 && c.Context().Err() != nil {
			return nil, c.Context().Err()
		}
		e = common(e, t)
	}
	return []op.Type{seqType(e)}, nil
}

func inferSequenceAt(c *op.Call) ([]op.Type, error) {
	e, err := elemOf(c, 0)
	if err != nil {
		return nil, err
	}
	if v, err := c.Value(0); err == nil {
		if p, err := c.Value(1); err == nil {
			if item, err := c.Op.Func(c, []dtype.Value{v, p}); err == nil {
				return []op.Type{op.TypeOf(item[0])}, nil
			} // else a run fails, unless it is in a body that does not run
		}
	}
	return []op.Type{e}, nil
}

func sequenceInsert(c *op.Call, in []dtype.Value) ([]dtype.Value, error) {
	s, err := sequenceOf(c, in)
	if err != nil {
		return nil, err
	}
	at := len(s.Items)
	if len(in) > 2 && in[2] != nil {
		d, ok := in[2].(*tensor.Dense)
		if !ok {
			return nil, c.Mismatch(2, "an index", op.TypeOf(in[2]))
		}
		if at, err = firstInt(c, 2, d); err != nil {
			return nil, err
		}
		if at < -len(s.Items) || at > len(s.Items) {
			return nil, c.Errorf("position %d is outside of [%d, %d]", at, -len(s.Items), len(s.Items))
		}
		if at < 0 {
			at += len(s.Items)
		}
	}
	return []dtype.Value{&dtype.Sequence{Elem: s.Elem, Items: slices.Insert(slices.Clone(s.Items), at, in[1])}}, nil
}

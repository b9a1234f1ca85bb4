package std

import (
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
)

// SequenceMapConfig has the attribute of SequenceMap. The inputs after those of the body are the
// values that it captures.
type SequenceMapConfig struct {
	Body op.Subgraph `onnx:"body,required"`
}

// Operator makes SequenceMapConfig a Config.
func (SequenceMapConfig) Operator() op.Name { return op.Name{Name: "SequenceMap"} }

func sequenceMap() *op.Op {
	return &op.Op{
		Name: "SequenceMap", Since: []int{17},
		Doc: "Applies a subgraph to each element of a sequence; further sequences go along, tensors are given to all.",
		In:  "input_sequence S, additional_inputs* any", Out: "out_sequence* S", Attrs: SequenceMapConfig{},
		Infer: inferSequenceMap, Func: runSequenceMap, Items: mapItems, Pinned: "a sequence",
	}
}

func inferSequenceMap(c *op.Call) ([]op.Type, error) {
	body := c.Config.(SequenceMapConfig).Body
	in := append([]op.Type(nil), c.In...)
	for i, t := range in {
		if i < body.Inputs() && t.Kind == op.Sequence && t.Elem != nil {
			in[i] = *t.Elem
		}
	}
	out, err := body.Infer(c.Context(), in, make([]op.Known, len(in)), c.Train)
	if _, needs := op.Needs(err); err != nil && !needs {
		return nil, err
	}
	types := make([]op.Type, c.Outputs)
	for i := range types {
		types[i] = seqType(op.Type{Unranked: true})
		if i < len(out) {
			types[i] = seqType(op.Type{DType: out[i].DType, Unranked: true})
		}
	}
	return types, nil
}

func runSequenceMap(c *op.Call, in []dtype.Value) ([]dtype.Value, error) {
	body := c.Config.(SequenceMapConfig).Body
	first, err := sequenceOf(c, in)
	if err != nil {
		return nil, err
	}
	out := make([]*dtype.Sequence, c.Outputs)
	for k := range out {
		out[k] = &dtype.Sequence{}
		if e := c.Out[k].Elem; e != nil {
			out[k].Elem = e.DType
		}
	}
	var memory op.Tally
	defer memory.Free()
	for i := range first.Items {
		args := append([]dtype.Value(nil), in...)
		for j := range args[:min(len(args), body.Inputs())] {
			s, ok := args[j].(*dtype.Sequence)
			if !ok {
				continue
			}
			if len(s.Items) != len(first.Items) {
				return nil, c.Errorf("sequences have %d and %d elements", len(first.Items), len(s.Items))
			}
			args[j] = s.Items[i]
		}
		res, _, err := body.Run(c.SubgraphRun(iterationKey(c.Key, i), nil), args)
		if err != nil {
			return nil, err
		}
		if len(res) < len(out) {
			return nil, c.Errorf("the body gave %d outputs, want %d", len(res), len(out))
		}
		for k := range out {
			if err := memory.Add(c.Context(), res[k]); err != nil {
				return nil, c.Errorf("element %d: %w", i, err)
			}
			out[k].Items = append(out[k].Items, res[k])
			out[k].Elem = dtype.DTypeOf(res[k])
		}
	}
	list := make([]dtype.Value, len(out))
	for k, s := range out {
		list[k] = s
	}
	return list, nil
}

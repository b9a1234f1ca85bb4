package main

import (
	"fmt"
	"maps"

	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/onnxio/onnxpb"
	"gorgonia.org/gorgonia"
)

// body runs a subgraph with the outer values fixed.
type body struct {
	g     *onnxpb.GraphProto
	outer map[string]dtype.Value
	opset int
}

func newBody(g *onnxpb.GraphProto, env map[string]dtype.Value, opset int) op.Body {
	return &body{g, maps.Clone(env), opset}
}

func (b *body) Inputs() int        { return len(b.g.Input) }
func (b *body) Captured() []string { return nil }
func (b *body) Infer(in []op.Type, known []op.Known, train bool) ([]op.Type, error) {
	var out []op.Type
	for _, vi := range b.g.Output {
		t := vi.GetType()
		if x := t.GetTensorType(); x != nil {
			out = append(out, op.Type{DType: dtype.DType(x.GetElemType()), Unranked: true})
		} else {
			out = append(out, op.Type{Kind: op.Sequence, Elem: &op.Type{DType: dtype.Float32, Unranked: true}})
		}
	}
	return out, nil
}
func (b *body) Lower(g *gorgonia.ExprGraph, in gorgonia.Nodes, types []op.Type, known []op.Known, train bool) (gorgonia.Nodes, error) {
	return nil, fmt.Errorf("no")
}
func (b *body) Run(in []dtype.Value) ([]dtype.Value, error) {
	env := maps.Clone(b.outer)
	for i, vi := range b.g.Input {
		env[vi.GetName()] = in[i]
	}
	if err := eval(b.g, env, b.opset); err != nil {
		return nil, err
	}
	var out []dtype.Value
	for _, vi := range b.g.Output {
		out = append(out, env[vi.GetName()])
	}
	return out, nil
}

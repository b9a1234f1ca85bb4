package onnxio_test

import (
	"bytes"
	"fmt"
	"slices"
	"testing"

	"github.com/graft-ml/graft/internal/kernel/kerneltest"
	"github.com/graft-ml/graft/internal/onnxpb"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/onnxio"
	"google.golang.org/protobuf/proto"
)

// TestManyCalls: calls of a function are replaced by its nodes in time in proportion to them: types are inferred once for all.
func TestManyCalls(t *testing.T) {
	looks := func(n int) int {
		port := func(name string) *onnxpb.ValueInfoProto {
			shape := &onnxpb.TensorShapeProto{Dim: []*onnxpb.TensorShapeProto_Dimension{{Value: &onnxpb.TensorShapeProto_Dimension_DimValue{DimValue: 8}}}}
			return &onnxpb.ValueInfoProto{Name: proto.String(name), Type: &onnxpb.TypeProto{Value: &onnxpb.TypeProto_TensorType{TensorType: &onnxpb.TypeProto_Tensor{ElemType: proto.Int32(1), Shape: shape}}}}
		}
		opsets := []*onnxpb.OperatorSetIdProto{{Version: proto.Int64(20)}, {Domain: proto.String("own"), Version: proto.Int64(1)}}
		m := &onnxpb.ModelProto{
			IrVersion: proto.Int64(9), OpsetImport: opsets,
			Functions: []*onnxpb.FunctionProto{{
				Name: proto.String("F"), Domain: proto.String("own"), Input: []string{"x"}, Output: []string{"y"}, OpsetImport: opsets[:1],
				Node: []*onnxpb.NodeProto{{OpType: proto.String("Neg"), Input: []string{"x"}, Output: []string{"t"}}, {OpType: proto.String("Tanh"), Input: []string{"t"}, Output: []string{"y"}}},
			}},
			Graph: &onnxpb.GraphProto{Name: proto.String("calls"), Input: []*onnxpb.ValueInfoProto{port("v0")}, Output: []*onnxpb.ValueInfoProto{port(fmt.Sprint("v", n))}},
		}
		for i := range n {
			m.Graph.Node = append(m.Graph.Node, &onnxpb.NodeProto{OpType: proto.String("F"), Domain: proto.String("own"), Input: []string{fmt.Sprint("v", i)}, Output: []string{fmt.Sprint("v", i+1)}})
		}
		b, err := proto.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		g, err := onnxio.Read(bytes.NewReader(b))
		if err != nil {
			t.Fatal(err)
		}
		seen := &kerneltest.Looks{Context: t.Context()}
		if err := g.EditUntil(seen, func(e *nn.Edit) { e.Decompose(e.Select()...) }); err != nil {
			t.Fatal(err)
		}
		if got := len(slices.Collect(g.Nodes())); got != 2*n {
			t.Errorf("%d nodes, want %d", got, 2*n)
		}
		return seen.In("")
	}
	if few, many := looks(20), looks(160); few == 0 || many > 16*few {
		t.Errorf("%d looks for 20 calls, %d for 160", few, many)
	}
}

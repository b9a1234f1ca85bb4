package onnxio

import (
	"fmt"
	"slices"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
)

// widening says with which version operators came to take further element types in input 0.
type widening struct {
	operators []string
	version   int
	types     []op.DType
}

var small = []op.DType{dtype.Int8, dtype.Int16, dtype.Uint8, dtype.Uint16}

// widenings leave out bfloat16 and narrower types, see typesExist.
var widenings = []widening{
	{[]string{"Add", "Sub", "Mul", "Div"}, 14, small},
	{[]string{"Relu"}, 14, op.Integers},
	{[]string{"Equal"}, 11, []op.DType{dtype.Float16, dtype.Float32, dtype.Float64, dtype.Int8, dtype.Int16, dtype.Uint8, dtype.Uint16, dtype.Uint32, dtype.Uint64}},
	{[]string{"Greater", "Less", "MatMul", "Gemm", "PRelu"}, 9, op.Integers},
	{[]string{"Max", "Min", "Pow", "Clip"}, 12, op.Integers},
	{[]string{"MaxPool"}, 12, small},
	{[]string{"TopK", "Pad"}, 11, op.Integers},
	{[]string{"ReduceMax", "ReduceMin"}, 12, small},
	{[]string{"ReduceMax", "ReduceMin"}, 20, []op.DType{dtype.Bool}},
	{[]string{"IsInf"}, 20, []op.DType{dtype.Float16, dtype.BFloat16}},
	{[]string{"QLinearMatMul"}, 21, []op.DType{dtype.Float16, dtype.BFloat16}},
}

// came is the operator set with which an element type came.
func came(t op.DType) int {
	switch t {
	case dtype.BFloat16:
		return 13
	case dtype.Int4, dtype.Uint4:
		return 21
	case dtype.Float4E2M1:
		return 23
	case dtype.Float8E8M0:
		return 24
	case dtype.Int2, dtype.Uint2:
		return 25
	}
	if t.IsFloat() && t.Bits() == 8 {
		return 19
	}
	return 1
}

// typesExist refuses element types that came with a later operator set, or to the node's operator.
func typesExist(n *nn.Node, opset int) error {
	for i, v := range append(n.Inputs(), n.Outputs()...) {
		t := v.Type().DType
		since := came(t)
		if t == dtype.BFloat16 && slices.Contains(n.Op().Since, 22) {
			since = 22
		}
		for _, w := range widenings {
			if (i == 0 || n.Type() == "QLinearMatMul") && slices.Contains(w.operators, n.Type()) && slices.Contains(w.types, t) {
				since = max(since, w.version)
			}
		}
		if opset < since {
			return fmt.Errorf("%v came with %d", t, since)
		}
	}
	return nil
}

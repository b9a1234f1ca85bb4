package contrib_test

import (
	"testing"

	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/contrib"
	"github.com/graft-ml/graft/nn/op/optest"
)

// TestRefusals pins what the operators on integers and those on blocks do not take.
func TestRefusals(t *testing.T) {
	const u = dtype.Uint8
	x, s, z := integers(u, 1, 2, 3), f32(0.1), u8(3)
	attention := []dtype.Value{integers(u, 2, 2, 3, 5), integers(u, 3, 5, 24), spread(4, 24), s, s}
	with := func(in []dtype.Value, at int, v dtype.Value) []dtype.Value {
		list := append([]dtype.Value{}, in...)
		for len(list) <= at {
			list = append(list, nil)
		}
		list[at] = v
		return list
	}
	heads := contrib.QAttentionConfig{Heads: 2}
	for _, c := range []struct {
		cfg     op.Config
		in      []dtype.Value
		refusal string
	}{
		{plain("QLinearAdd"), []dtype.Value{x, f32(0.1, 0.2), z, x, s, z, s, z}, "QLinearAdd node: the scale of A is float32[2], want one number"},
		{plain("QLinearMul"), []dtype.Value{x, s, z, x, s, z, s, u8(1, 2)}, "QLinearMul node: the zero point of the result is uint8[2], want one number"},
		{plain("QLinearAdd"), []dtype.Value{x, s, z, nil, s, z, s, z}, "input B: want a value, got nothing"},
		{plain("QLinearAdd"), []dtype.Value{x, s, z, integers(dtype.Int8, 1, 2, 3), s, z, s, z}, "input B: want uint8, got int8[2,3]"},
		{plain("QLinearSigmoid"), []dtype.Value{x, s, z, f32(0.1, 0.3), z}, "QLinearSigmoid node: the scale of the result is float32[2], want one number"},
		{contrib.QLinearSoftmaxConfig{Opset: 11, Axis: pointer(2)}, []dtype.Value{x, s, z, s, z}, "axis 2"},
		{contrib.QLinearConcatConfig{Axis: 1}, []dtype.Value{s, z, x, s}, "has 2 inputs after Y_zero_point, want three for each tensor: the tensor, its scale and its zero point"},
		{contrib.QLinearConcatConfig{Axis: 1}, []dtype.Value{s, z, x, z, s}, "inputs 2 to 4 are uint8[2,3], uint8[] and float32[], want a tensor of uint8, a float and a zero point of uint8"},
		{contrib.QGemmConfig{}, []dtype.Value{x, s, z, integers(u, 2, 3, 4), s, z, nil, s}, "has one of y_scale and y_zero_point, want both or none"},
		{contrib.QGemmConfig{}, []dtype.Value{integers(u, 2, 2, 2, 3), s, z, integers(u, 2, 3, 4), s, z}, "A is uint8[2,2,3], want a matrix"},
		{plain("MatMulIntegerToFloat"), []dtype.Value{x, integers(u, 2, 3, 4), s, s, u8(1, 2)}, "the zero point of A is uint8[2], want one number"},
		{contrib.QuantizeLinearConfig{Axis: pointer(1)}, []dtype.Value{spread(1, 2, 3), f32(1, 2), u8(1, 2)}, "a scale for each of 3"},
		{contrib.QAttentionConfig{Heads: 2, ShareBuffer: true}, with(attention, 8, spread(1, 2, 2, 2, 3, 4)), "past_present_share_buffer is 1, which needs the length of the past"},
		{contrib.QAttentionConfig{Heads: 5}, attention, "cannot cut 24 columns of weight into queries, keys and values of 5 heads"},
		{contrib.QAttentionConfig{}, attention, "cannot cut 24 columns of weight into queries, keys and values of 0 heads"},
		{heads, with(attention, 0, integers(u, 2, 2, 3, 4)), "input is uint8[2,3,4] and weight uint8[5,24], want [batch, steps, channels] and [channels, 3 times hidden size]"},
		{heads, with(attention, 5, i32(1, 2, 3)), "input mask_index: want lengths [2], [4] or [8] or flags [2,3], [2,3,3] or [2,1,M,M], got int32[3]"},
		{heads, with(attention, 8, spread(1, 2, 2, 3, 2, 4)), "input past: want float32[2,2,2,?,4], got float32[2,2,3,2,4]"},
		{contrib.QAttentionConfig{Heads: 3, Rotary: true}, with(with(attention, 1, integers(u, 3, 5, 27)), 2, spread(4, 27)), "cannot rotate 3 elements: the number is odd"},
		{heads, with(attention, 8, spread(1, 2, 2, 2, 3)), "input past: want rank 5, got float32[2,2,2,3]"},
		{contrib.ReorderOutputConfig{Channels: 9}, []dtype.Value{spread(1, 1, 8, 2, 2)}, "channels is 9, but the input is float32[1,8,2,2]"},
		{contrib.ReorderInputConfig{}, []dtype.Value{spread(1, 8)}, "X is float32[8], want [batch, channels, …]"},
	} {
		optest.Fails(t, optest.Case{Name: c.cfg.Operator().Name, Ops: set(t), Config: c.cfg, In: c.in, Refusal: c.refusal})
	}
}

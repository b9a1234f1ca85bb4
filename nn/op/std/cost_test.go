package std_test

import (
	"testing"

	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/std"
)

func TestCost(t *testing.T) {
	f := func(shape ...int) op.Type { return op.Shaped(dtype.Float32, shape...) }
	u := func(shape ...int) op.Type { return op.Shaped(dtype.Uint8, shape...) }
	for _, c := range []struct {
		name        string
		config      op.Config
		in          []op.Type
		macs, bytes int64
	}{
		{"Conv", std.ConvConfig{Group: 2}, []op.Type{f(2, 4, 5, 5), f(6, 2, 3, 3)}, 2 * 6 * 9 * 2 * 9, 4 * (200 + 108 + 108)},
		{"ConvTranspose", std.ConvTransposeConfig{}, []op.Type{f(1, 2, 3, 3), f(2, 4, 2, 2)}, 2 * 9 * 4 * 4, 4 * (18 + 32 + 64)},
		{"Gemm", std.GemmConfig{TransA: true}, []op.Type{f(3, 2), f(3, 5), f(5)}, 2 * 3 * 5, 4 * (6 + 15 + 5 + 10)},
		{"MatMul", op.Plain("MatMul"), []op.Type{f(7, 2, 3), f(3, 5)}, 7 * 2 * 3 * 5, 4 * (42 + 15 + 70)},
		{"QLinearConv", std.QLinearConvConfig{}, []op.Type{u(1, 2, 5, 5), f(), u(), u(3, 2, 3, 3), f(), u(), f(), u()}, 3 * 9 * 18, 50 + 4 + 1 + 54 + 4 + 1 + 4 + 1 + 27},
		{"QLinearMatMul", op.Plain("QLinearMatMul"), []op.Type{u(4, 3), f(), u(), u(3, 5), f(), u(), f(), u()}, 4 * 3 * 5, 12 + 4 + 1 + 15 + 4 + 1 + 4 + 1 + 20},
		{"ConvInteger", std.ConvIntegerConfig{}, []op.Type{u(1, 2, 5, 5), u(3, 2, 3, 3)}, 3 * 9 * 18, 50 + 54 + 4*27},
		{"MatMulInteger", op.Plain("MatMulInteger"), []op.Type{u(4, 3), u(3, 5)}, 4 * 3 * 5, 12 + 15 + 4*20},
		{"LSTM", std.LSTMConfig{}, []op.Type{f(5, 2, 3), f(1, 16, 3), f(1, 16, 4)}, 5 * 2 * 16 * 7, 4 * (30 + 48 + 64 + 40)},
		{"Einsum", std.EinsumConfig{Equation: "bij,bjk->bik"}, []op.Type{f(2, 3, 4), f(2, 4, 5)}, 2 * 3 * 4 * 5, 4 * (24 + 40 + 30)},
	} {
		call := newCall(t, c.config, c.in...)
		if err := call.Resolve(); err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if macs, bytes := call.Op.Cost(call); macs != c.macs || bytes != c.bytes {
			t.Errorf("%s: got %d multiply-adds and %d bytes, want %d and %d", c.name, macs, bytes, c.macs, c.bytes)
		}
	}
}

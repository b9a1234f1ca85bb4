package std_test

import (
	"testing"

	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/optest"
	"github.com/graft-ml/graft/nn/op/std"
)

func TestQuantizeLinear(t *testing.T) {
	x, axis, no := optest.Floats([]int{2, 3}, 0, 2, 3, 1000, -254, -1000), 0, false
	one, many := optest.Tensor([]float32{2}), optest.Floats([]int{2}, 2, 4)
	zero := optest.Tensor([]uint8{128})
	blocks := optest.Floats([]int{2, 2}, 1, 2, 3, 4)
	optest.Run(t,
		optest.Case{Name: "one", Config: std.QuantizeLinearConfig{}, In: values(x, one, zero), Want: values(optest.Tensor([]uint8{128, 129, 130, 255, 1, 0}, 2, 3))},
		optest.Case{Name: "axis", Config: std.QuantizeLinearConfig{Axis: &axis, Output: dtype.Int8}, In: values(x, many), Want: values(optest.Tensor([]int8{0, 1, 2, 127, -64, -128}, 2, 3))},
		optest.Case{Name: "blocks", Config: std.QuantizeLinearConfig{BlockSize: 2, Output: dtype.Int16, Precision: dtype.Float32}, In: values(x, blocks), Want: values(optest.Tensor([]int16{0, 2, 2, 333, -85, -250}, 2, 3))},
		optest.Case{Name: "float8", Config: std.QuantizeLinearConfig{Output: dtype.Float8E4M3FN, Saturate: &no}, In: values(x, one)},
		optest.Case{Name: "version 10", Config: std.QuantizeLinearConfig{}, Version: 10, In: values(x, one)},
	)
	optest.Fails(t, optest.Case{Config: std.QuantizeLinearConfig{}, In: values(x, many), Refusal: "input y_scale: want a scale for each of 3, got float32[2]"})
	optest.Fails(t, optest.Case{Config: std.QuantizeLinearConfig{BlockSize: 5}, In: values(x, blocks), Refusal: "input y_scale: want a scale for each block of float32[2,3], got float32[2,2]"})
	optest.Fails(t, optest.Case{Config: std.QuantizeLinearConfig{BlockSize: -1}, In: values(x, blocks), Refusal: "block_size -1 is negative"})
	q := optest.Tensor([]int8{1, 2, 3, 4, 5, 6}, 2, 3)
	optest.Run(t,
		optest.Case{Name: "back", Config: std.DequantizeLinearConfig{}, In: values(q, one, optest.Tensor([]int8{1})), Want: values(optest.Floats([]int{2, 3}, 0, 2, 4, 6, 8, 10))},
		optest.Case{Name: "back axis", Config: std.DequantizeLinearConfig{Axis: &axis}, In: values(q, many, optest.Tensor([]int8{1, 2}, 2))},
		optest.Case{Name: "back to float16", Config: std.DequantizeLinearConfig{Axis: &axis, Output: dtype.Float16}, In: values(q, many), NoGrad: "float16"},
		optest.Case{Name: "back blocks", Config: std.DequantizeLinearConfig{BlockSize: 2}, In: values(q, blocks), Want: values(optest.Floats([]int{2, 3}, 1, 2, 6, 12, 15, 24))})
	optest.Run(t,
		optest.Case{Name: "dynamic", Config: op.Plain("DynamicQuantizeLinear"), In: values(optest.Floats([]int{3}, 0, 2, -3)), Outputs: 3, NoCut: "the range is that of all"},
		optest.Case{Name: "dynamic zeros", Config: op.Plain("DynamicQuantizeLinear"), In: values(optest.Tensor([]float32{0, 0}, 2)), Outputs: 3, NoCut: "the range is that of all",
			Want: values(optest.Tensor([]uint8{0, 0}, 2), optest.Tensor([]float32{1}), optest.Tensor([]uint8{0}))})
}

func TestIntegerProducts(t *testing.T) {
	a, b := optest.Tensor([]uint8{11, 7, 3, 10, 6, 2}, 2, 3), optest.Tensor([]int8{1, 4, 2, 5, 3, 6}, 3, 2)
	x, w := optest.Tensor([]uint8{2, 3, 4, 5, 6, 7, 8, 9, 10}, 1, 1, 3, 3), optest.Tensor([]int8{1, 1, 1, -1}, 1, 1, 2, 2)
	f := func(v float32) dtype.Value { return optest.Tensor([]float32{v}) }
	u := func(v uint8) dtype.Value { return optest.Tensor([]uint8{v}) }
	i := func(v int8) dtype.Value { return optest.Tensor([]int8{v}) }
	optest.Run(t,
		optest.Case{Name: "matmul", Config: op.Plain("MatMulInteger"), In: values(a, b, u(12)), Want: values(optest.Tensor([]int32{-38, -83, -44, -98}, 2, 2))},
		optest.Case{Name: "conv", Config: std.ConvIntegerConfig{Pads: []int{0, 0, 1, 1}, Strides: []int{2, 2}, Kernel: []int{2, 2}, Dilations: []int{1, 1}}, In: values(x, w, u(1), i(0)),
			Want: values(optest.Tensor([]int32{2, 9, 15, 9}, 1, 1, 2, 2))},
		optest.Case{Name: "qconv", Config: std.QLinearConvConfig{Group: 1}, In: values(x, f(0.5), u(1), w, f(2), i(0), f(2), u(3)), Want: values(optest.Tensor([]uint8{4, 5, 7, 8}, 1, 1, 2, 2))},
		optest.Case{Name: "qmatmul", Config: op.Plain("QLinearMatMul"), In: values(a, f(0.5), u(12), b, f(0.5), i(0), f(2), u(20)), Want: values(optest.Tensor([]uint8{15, 10, 14, 8}, 2, 2))},
	)
	optest.Fails(t, optest.Case{Config: op.Plain("MatMulInteger"), In: values(a, a), Refusal: "A is float64[2,3], B float64[2,3]: inner dimensions 3 and 2 differ"})
}

func TestBitCast(t *testing.T) {
	optest.Run(t,
		optest.Case{Name: "float", Config: std.BitCastConfig{To: dtype.Float32}, In: values(optest.Tensor([]int32{0x3f800000, -0x40000000}, 2)), Want: values(optest.Floats([]int{2}, 1, -2))},
		optest.Case{Name: "four bits", Config: std.BitCastConfig{To: dtype.Int4}, In: values(optest.As(dtype.Uint4, optest.Tensor([]uint8{7, 15}, 2))), Want: values(optest.As(dtype.Int4, optest.Tensor([]int8{7, -1}, 2)))})
	optest.Fails(t, optest.Case{Config: std.BitCastConfig{To: dtype.Int64}, In: values(optest.Rand(1, 2)), Refusal: "cannot reinterpret the bits of float32 as int64"})
}

package std_test

import (
	"fmt"
	"testing"

	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/optest"
	"github.com/graft-ml/graft/nn/op/std"
	"gorgonia.org/tensor"
)

// pairsOfShapes are operands that broadcast in every way the kernels tell apart.
var pairsOfShapes = [][2][]int{
	{{2, 3}, {2, 3}}, {{2, 3}, {}}, {{}, {2, 3}}, {{2, 3}, {3}}, {{3}, {2, 3}}, {{2, 3}, {2, 1}}, {{2, 1}, {2, 3}},
	{{2, 3, 2, 2}, {1, 3, 1, 1}}, {{3, 1, 1}, {2, 3, 2, 2}}, {{2, 1}, {1, 3}}, {{2, 1, 3, 1}, {1, 4, 1, 2}}, {{1}, {1}}, {{}, {}}, {{0, 3}, {3}},
}

func TestArithmetic(t *testing.T) {
	for _, name := range []string{"Add", "Sub", "Mul", "Div", "Sum", "Mean", "Max", "Min"} {
		for _, s := range pairsOfShapes {
			b := optest.Rand(8, s[1]...)
			if name == "Div" {
				b = optest.Spread(8, 0.5, 2, s[1]...)
			}
			optest.Run(t, optest.Case{Name: fmt.Sprint(name, s), Config: op.Plain(name), In: []dtype.Value{optest.Rand(7, s[0]...), b}, NoLow: "ties"})
		}
	}
}

func TestPow(t *testing.T) {
	base := optest.Spread(1, 0.3, 2, 2, 3)
	optest.Run(t,
		optest.Case{Name: "floats", Config: op.Plain("Pow"), In: []dtype.Value{base, optest.Rand(2, 3)}},
		optest.Case{Name: "square", Config: op.Plain("Pow"), In: []dtype.Value{optest.Rand(3, 2, 3), optest.Floats(nil, 2)}, NoGrad: "a negative base has no gradient by the exponent"},
		optest.Case{Name: "integer exponent", Config: op.Plain("Pow"), In: []dtype.Value{optest.Rand(3, 2, 3), optest.Ints(2, 3, 0)}},
		optest.Case{Name: "integer base", Config: op.Plain("Pow"), In: []dtype.Value{optest.Ints(-3, 2, 2), optest.Ints(3, 10, -1)}, Want: []dtype.Value{optest.Ints(-27, 1024, 0)}},
		optest.Case{Name: "float exponent", Config: op.Plain("Pow"), In: []dtype.Value{optest.Ints(4, 9), optest.Floats([]int{2}, 0.5, 2)}, Want: []dtype.Value{optest.Ints(2, 81)}},
	)
}

func TestMod(t *testing.T) {
	a, b := optest.Floats([]int{4}, 5.3, -5.3, 5.3, -5.3), optest.Floats([]int{4}, 2, 2, -2, -2)
	optest.Run(t,
		optest.Case{Name: "of integers", Config: std.ModConfig{}, In: []dtype.Value{optest.Ints(5, -5, 5, -5), optest.Ints(3, 3, -3, -3)}, Want: []dtype.Value{optest.Ints(2, 1, -1, -2)}},
		optest.Case{Name: "as in C", Config: std.ModConfig{Fmod: true}, In: []dtype.Value{optest.Ints(5, -5, 5, -5), optest.Ints(3, 3, -3, -3)}, Want: []dtype.Value{optest.Ints(2, -2, 2, -2)}},
		optest.Case{Name: "floats", Config: std.ModConfig{Fmod: true}, In: []dtype.Value{a, b}, Want: []dtype.Value{optest.Floats([]int{4}, 1.3, -1.3, 1.3, -1.3)}, NoLow: "jumps"},
		optest.Case{Name: "floor of floats", Config: std.ModConfig{}, In: []dtype.Value{a, b}, Want: []dtype.Value{optest.Floats([]int{4}, 1.3, 0.7, -0.7, -1.3)}, NoLow: "jumps"},
	)
	optest.Fails(t, optest.Case{Config: std.ModConfig{}, In: []dtype.Value{optest.Ints(1), optest.Ints(0)}, Refusal: "integer division by zero"})
}

func TestIntegerArithmetic(t *testing.T) {
	u8 := func(v ...uint8) dtype.Value { return optest.Tensor(v, len(v)) }
	i8 := func(v ...int8) dtype.Value { return optest.Tensor(v, len(v)) }
	cases := []struct {
		op         string
		a, b, want dtype.Value
	}{
		{"Add", u8(250, 3), u8(10, 4), u8(4, 7)},
		{"Sub", u8(3), u8(5), u8(254)},
		{"Mul", i8(100), i8(2), i8(-56)},
		{"Div", i8(-7, 7, -128), i8(2, -2, -1), i8(-3, -3, -128)},
		{"Div", optest.Tensor([]uint64{1<<64 - 1}, 1), optest.Tensor([]uint64{2}, 1), optest.Tensor([]uint64{1<<63 - 1}, 1)},
		{"Max", optest.Tensor([]uint64{1<<64 - 1}, 1), optest.Tensor([]uint64{2}, 1), optest.Tensor([]uint64{1<<64 - 1}, 1)},
		{"Min", i8(-7, 7), i8(2), i8(-7, 2)},
		{"Add", optest.Ints(4, 6), optest.Ints(2), optest.Ints(6, 8)},
		{"Sub", optest.Ints(4, 6), optest.Ints(2), optest.Ints(2, 4)},
		{"Mul", optest.Ints(4, 6), optest.Ints(2, 3), optest.Ints(8, 18)},
		{"Div", optest.Ints(4, 6), optest.Ints(2, 3), optest.Ints(2, 2)},
		{"Max", optest.Ints(4, 6), optest.Ints(5, 5), optest.Ints(5, 6)},
		{"BitwiseAnd", u8(12), u8(10), u8(8)},
		{"BitwiseOr", u8(12), u8(10), u8(14)},
		{"BitwiseXor", u8(12), u8(10), u8(6)},
	}
	for _, c := range cases {
		optest.Run(t, optest.Case{Name: c.op, Config: op.Plain(c.op), In: []dtype.Value{c.a, c.b}, Want: []dtype.Value{c.want}})
	}
	optest.Run(t,
		optest.Case{Name: "left", Config: std.BitShiftConfig{Direction: "LEFT"}, In: []dtype.Value{u8(3, 3), u8(1, 9)}, Want: []dtype.Value{u8(6, 0)}},
		optest.Case{Name: "right", Config: std.BitShiftConfig{Direction: "RIGHT"}, In: []dtype.Value{u8(6), u8(1)}, Want: []dtype.Value{u8(3)}})
	optest.Fails(t, optest.Case{Config: std.BitShiftConfig{Direction: "UP"}, In: []dtype.Value{u8(6), u8(1)}, Refusal: "direction is \"UP\", want LEFT or RIGHT"})
	optest.Fails(t, optest.Case{Config: op.Plain("Div"), In: []dtype.Value{u8(6), u8(0)}, Refusal: "integer division by zero"})
	optest.Fails(t, optest.Case{Config: op.Plain("Add"), In: []dtype.Value{optest.Rand(1, 2), optest.Rand(1, 3)}, Refusal: "shapes [[2] [3]] do not broadcast: dimension 0 is 2 and 3"})
}

func TestBroadcastingBefore7(t *testing.T) {
	a := optest.Rand(1, 2, 3, 4)
	optest.Run(t,
		optest.Case{Name: "axis", Config: std.AddConfig{Axis: ptr(1), Broadcast: true}, Version: 6, In: []dtype.Value{a, optest.Rand(2, 3)}},
		optest.Case{Name: "two axes", Config: std.MulConfig{Axis: ptr(0), Broadcast: true}, Version: 6, In: []dtype.Value{a, optest.Rand(2, 2, 3)}},
		optest.Case{Name: "suffix", Config: std.SubConfig{Broadcast: true}, Version: 6, In: []dtype.Value{a, optest.Rand(2, 3, 4)}},
		optest.Case{Name: "values", Config: std.DivConfig{Axis: ptr(0), Broadcast: true}, Version: 6, In: []dtype.Value{optest.Floats([]int{2, 2}, 2, 4, 9, 12), optest.Floats([]int{2}, 2, 3)},
			Want: []dtype.Value{optest.Floats([]int{2, 2}, 1, 2, 3, 4)}})
}

func TestVariadic(t *testing.T) {
	for _, name := range []string{"Sum", "Mean", "Max", "Min"} {
		in := []dtype.Value{optest.Rand(1, 2, 3), optest.Rand(2, 3), optest.Rand(3, 2, 1), optest.Rand(4)}
		optest.Run(t, optest.Case{Name: name, Config: op.Plain(name), In: in},
			optest.Case{Name: name + " of one", Config: op.Plain(name), In: in[:1]})
	}
}

// TestVariadicBroadcast: the first two operands may both be repeated along an axis that only the third one has.
func TestVariadicBroadcast(t *testing.T) {
	fold := map[string]func(a, b, c float32) float32{
		"Sum": func(a, b, c float32) float32 { return a + b + c }, "Mean": func(a, b, c float32) float32 { return (a + b + c) / 3 },
		"Max": func(a, b, c float32) float32 { return max(a, b, c) }, "Min": func(a, b, c float32) float32 { return min(a, b, c) },
	}
	all := []float32{1, -5, 6, 2, 7, -3}
	narrow := []struct {
		shape []int
		at    func(i int) int
	}{{[]int{2, 1}, func(i int) int { return i / 3 }}, {[]int{3}, func(i int) int { return i % 3 }}, {[]int{1, 1}, func(int) int { return 0 }}}
	for name, f := range fold {
		for _, a := range narrow {
			for _, b := range narrow {
				want := make([]float32, 6)
				for i, c := range all {
					want[i] = f(float32(a.at(i))*2-1, 3-float32(b.at(i))*4, c)
				}
				operand := func(shape []int, first, step float32) *tensor.Dense {
					v := make([]float32, dtype.Product(shape))
					for i := range v {
						v[i] = first + step*float32(i)
					}
					return optest.Floats(shape, v...)
				}
				for _, d := range []dtype.DType{dtype.Float32, dtype.Float64, dtype.Int32} {
					if d == dtype.Int32 && (name == "Sum" || name == "Mean") {
						continue
					}
					in := []dtype.Value{optest.As(d, operand(a.shape, -1, 2)), optest.As(d, operand(b.shape, 3, -4)), optest.As(d, optest.Floats([]int{2, 3}, all...))}
					optest.Run(t, optest.Case{Name: fmt.Sprint(name, d, a.shape, b.shape), Config: op.Plain(name), In: in, Want: []dtype.Value{optest.As(d, optest.Floats([]int{2, 3}, want...))}})
				}
			}
		}
	}
}

func TestComparisons(t *testing.T) {
	a, b := optest.Floats([]int{3}, 1, 2, 3), optest.Floats([]int{3}, 2, 2, 2)
	want := map[string][]bool{
		"Equal": {false, true, false}, "Less": {true, false, false}, "Greater": {false, false, true},
		"LessOrEqual": {true, true, false}, "GreaterOrEqual": {false, true, true},
	}
	for name, w := range want {
		for _, d := range []dtype.DType{dtype.Float32, dtype.Float64, dtype.Float16, dtype.Int8, dtype.Uint64, dtype.Int64} {
			optest.Run(t, optest.Case{Name: fmt.Sprint(name, d), Config: op.Plain(name),
				In: []dtype.Value{optest.As(d, a), optest.As(d, b)}, Want: []dtype.Value{optest.Tensor(w, 3)}})
		}
	}
	yes := func(v ...bool) dtype.Value { return optest.Tensor(v, len(v)) }
	for name, w := range map[string]dtype.Value{"And": yes(false, true), "Or": yes(true, true), "Xor": yes(true, false), "Equal": yes(false, true)} {
		optest.Run(t, optest.Case{Name: name, Config: op.Plain(name), In: []dtype.Value{yes(false, true), yes(true)}, Want: []dtype.Value{w}})
	}
	s, _ := dtype.NewStrings([]string{"a", "b"}, 2)
	one, _ := dtype.NewStrings([]string{"b"}, 1)
	optest.Run(t, optest.Case{Name: "strings", Config: op.Plain("Equal"), In: []dtype.Value{s, one}, Want: []dtype.Value{yes(false, true)}})
}

package contrib_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/graft-ml/graft/internal/oracle"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/contrib"
	"github.com/graft-ml/graft/nn/op/optest"
	"github.com/graft-ml/graft/nn/op/std"
	"github.com/graft-ml/graft/onnxio"
	"gorgonia.org/tensor"
)

// integers are random numbers over the range of a type of at most 16 bits; of more, between −1000 and 1000.
func integers(t op.DType, seed uint64, dims ...int) dtype.Value {
	n, err := dtype.Count(dims)
	if err != nil {
		panic(err)
	}
	lo, hi := -1000, 1000
	if t.Bits() <= 16 {
		lo, hi = -1<<(t.Bits()-1), 1<<(t.Bits()-1)-1
		if t.IsUnsigned() {
			lo, hi = 0, 1<<t.Bits()-1
		}
	}
	r, x := rand.New(rand.NewPCG(seed, 11)), make([]int, n)
	for i := range x {
		x[i] = lo + r.IntN(hi-lo+1)
	}
	return typed(t, x, dims...)
}

// typed are integers of a type: of one shape, or a scalar.
func typed(t op.DType, x []int, dims ...int) dtype.Value {
	d, err := dtype.FromInts(t, x, dims...)
	if err != nil {
		panic(err)
	}
	return d
}

func i8(x ...int) dtype.Value  { return vectorOf(dtype.Int8, x) }
func u8(x ...int) dtype.Value  { return vectorOf(dtype.Uint8, x) }
func i32(x ...int) dtype.Value { return typed(dtype.Int32, x, len(x)) }

// vectorOf returns a scalar of one number, or a vector of several.
func vectorOf(t op.DType, x []int) dtype.Value {
	if len(x) == 1 {
		return typed(t, x)
	}
	return typed(t, x, len(x))
}

func f32(x ...float32) dtype.Value {
	if len(x) == 1 {
		return dtype.Scalar(x[0])
	}
	return optest.Tensor(x, len(x))
}

// quantizedUses are uses of operators on integers, beside those of uses, whose results are floats alone.
func quantizedUses() []use {
	const i, u = dtype.Int8, dtype.Uint8
	var list []use
	add := func(name string, cfg op.Config, in ...dtype.Value) {
		list = append(list, use{Case: optest.Case{Name: name, Config: cfg, In: in}})
	}
	for _, name := range []string{"QLinearAdd", "QLinearMul"} {
		add(name, plain(name), integers(u, 1, 2, 3, 5), f32(0.031), u8(120), integers(u, 2, 2, 3, 5), f32(0.017), u8(3), f32(0.051), u8(97))
		add(name+" int8", plain(name), integers(i, 1, 2, 3, 5), f32(0.031), i8(-12), integers(i, 2, 3, 1), f32(0.017), i8(30), f32(0.049), i8(-7))
		add(name+" plain", plain(name), integers(i, 3, 2, 1), f32(0.02), i8(0), integers(i, 4, 1, 7), f32(0.033), i8(0), f32(0.047), i8(0))
		add(name+" one", plain(name), integers(u, 3, 2, 7), f32(0.02), u8(9), integers(u, 4), f32(0.033), u8(0), f32(0.047), u8(200))
	}
	for _, t := range []op.DType{i, u} { // half of the sums and a quarter of the means are ties, whose side an odd zero point changes
		for zero := range 2 {
			name, z := fmt.Sprintf(" ties %v %d", t, zero), vectorOf(t, []int{3 + zero})
			for operator, scale := range map[string]float32{"QLinearAdd": 1, "QLinearMul": 32} {
				add(operator+name, plain(operator), integers(t, 1, 3, 9), f32(0.5), z, integers(t, 2, 3, 9), f32(0.5), z, f32(scale), z)
			}
			add("QLinearAveragePool"+name, contrib.QLinearAveragePoolConfig{Kernel: []int{2, 2}}, integers(t, 11, 1, 2, 6, 7), f32(0.5), z, f32(0.5), z)
			add("QLinearGlobalAveragePool"+name, contrib.QLinearGlobalAveragePoolConfig{}, integers(t, 15, 2, 9, 2, 2), f32(0.5), z, f32(0.5), z)
		}
	}
	add("QLinearSigmoid", plain("QLinearSigmoid"), integers(u, 5, 4, 9), f32(0.037), u8(100), f32(0.0041), u8(2))
	add("QLinearSigmoid int8", plain("QLinearSigmoid"), integers(i, 5, 4, 9), f32(0.037), i8(10), f32(0.0043), i8(-127))
	add("QLinearSigmoid plain", plain("QLinearSigmoid"), integers(i, 5, 4, 9), f32(0.041), i8(0), f32(0.0081), i8(0))
	add("QLinearLeakyRelu", contrib.QLinearLeakyReluConfig{}, integers(u, 6, 4, 9), f32(0.037), u8(100), f32(0.029), u8(20))
	add("QLinearLeakyRelu alpha", contrib.QLinearLeakyReluConfig{Alpha: pointer[float32](0.3)}, integers(i, 6, 4, 9), f32(0.037), i8(-10), f32(0.029), i8(20))
	add("QLinearLeakyRelu zero", contrib.QLinearLeakyReluConfig{Alpha: pointer[float32](0)}, integers(i, 6, 4, 9), f32(0.037), i8(0), f32(0.031), i8(0))
	add("QLinearSoftmax", contrib.QLinearSoftmaxConfig{Opset: 13}, integers(u, 7, 3, 11), f32(0.017), u8(100), f32(0.0037), u8(0))
	add("QLinearSoftmax axis", contrib.QLinearSoftmaxConfig{Opset: 13, Axis: pointer(1)}, integers(i, 7, 3, 5, 2), f32(0.013), i8(10), f32(0.0039), i8(-128))
	add("QLinearSoftmax before 13", contrib.QLinearSoftmaxConfig{Opset: 12, Axis: pointer(1)}, integers(u, 7, 3, 5, 2), f32(0.013), nil, f32(0.0031), u8(5))
	add("QLinearSoftmax axis before 13", contrib.QLinearSoftmaxConfig{Opset: 11}, integers(u, 7, 3, 5, 2), f32(0.013), u8(9), f32(0.0041), u8(0))
	add("QLinearConcat", contrib.QLinearConcatConfig{Axis: 1}, f32(0.031), u8(100), integers(u, 8, 2, 3, 2), f32(0.031), u8(100), integers(u, 9, 2, 1, 2), f32(0.021), u8(7))
	add("QLinearConcat int8", contrib.QLinearConcatConfig{Axis: -1}, f32(0.031), i8(-3), integers(i, 8, 2, 3), f32(0.011), i8(4), integers(i, 9, 2, 1), f32(0.021), i8(7), integers(i, 10, 2, 4), f32(0.043), i8(0))

	pool := contrib.QLinearAveragePoolConfig{Kernel: []int{3, 2}}
	with := func(f func(c *contrib.QLinearAveragePoolConfig)) contrib.QLinearAveragePoolConfig {
		c := pool
		f(&c)
		return c
	}
	add("QLinearAveragePool", pool, integers(u, 11, 2, 3, 6, 7), f32(0.031), u8(100), f32(0.019), u8(90))
	add("QLinearAveragePool int8", with(func(c *contrib.QLinearAveragePoolConfig) { c.Pads, c.Strides = []int{1, 0, 1, 1}, []int{2, 1} }), integers(i, 11, 1, 3, 6, 7), f32(0.031), i8(-100), f32(0.037), i8(9))
	add("QLinearAveragePool pad", with(func(c *contrib.QLinearAveragePoolConfig) { c.Pads, c.Pad = []int{1, 0, 1, 1}, true }), integers(u, 12, 1, 3, 6, 7), f32(0.031), u8(100), f32(0.027), u8(0))
	add("QLinearAveragePool ceil", with(func(c *contrib.QLinearAveragePoolConfig) { c.CeilMode, c.Strides = true, []int{2, 2} }), integers(u, 12, 1, 2, 6, 7), f32(0.031), u8(0), f32(0.027), u8(4))
	add("QLinearAveragePool auto", with(func(c *contrib.QLinearAveragePoolConfig) { c.AutoPad = "SAME_UPPER" }), integers(u, 13, 1, 2, 6, 7), f32(0.031), u8(80), f32(0.027), u8(4))
	add("QLinearAveragePool last", with(func(c *contrib.QLinearAveragePoolConfig) { c.ChannelsLast = true }), integers(u, 14, 2, 6, 7, 3), f32(0.031), u8(80), f32(0.023), u8(4))
	add("QLinearAveragePool valid ceil", with(func(c *contrib.QLinearAveragePoolConfig) {
		c.AutoPad, c.CeilMode, c.Strides = "VALID", true, []int{2, 2}
	}), integers(u, 13, 1, 2, 6, 7), f32(0.031), u8(80), f32(0.027), u8(4))
	add("QLinearAveragePool pad ceil", with(func(c *contrib.QLinearAveragePoolConfig) {
		c.Pads, c.Pad, c.CeilMode, c.Strides = []int{1, 0, 0, 1}, true, true, []int{2, 3}
	}), integers(u, 12, 1, 2, 5, 7), f32(0.031), u8(100), f32(0.027), u8(9))
	add("QLinearAveragePool pad ceil behind", with(func(c *contrib.QLinearAveragePoolConfig) {
		c.Kernel, c.Pads, c.Pad, c.CeilMode, c.Strides = []int{2, 2}, []int{0, 1, 1, 1}, true, true, []int{2, 3}
	}), integers(i, 12, 2, 1, 6, 5), f32(0.031), i8(60), f32(0.027), i8(9))
	add("QLinearAveragePool pad ceil steps", with(func(c *contrib.QLinearAveragePoolConfig) { c.Pad, c.CeilMode = true, true }), integers(i, 12, 1, 1, 6, 5), f32(0.031), i8(60), f32(0.027), i8(9))
	add("QLinearGlobalAveragePool", contrib.QLinearGlobalAveragePoolConfig{}, integers(u, 15, 2, 3, 6, 7), f32(0.031), u8(80), f32(0.0031), u8(104))
	add("QLinearGlobalAveragePool last", contrib.QLinearGlobalAveragePoolConfig{ChannelsLast: true}, integers(i, 15, 2, 6, 7, 3), f32(0.031), i8(8), f32(0.0033), i8(10))

	add("QGemm", contrib.QGemmConfig{}, integers(u, 16, 3, 4), f32(0.021), u8(100), integers(u, 17, 4, 5), f32(0.013), u8(90), i32(100, -200, 300, 400, -500), f32(0.037), u8(120))
	add("QGemm transposed", contrib.QGemmConfig{TransA: true, TransB: true, Alpha: pointer[float32](0.3)}, integers(i, 16, 4, 3), f32(0.021), i8(-10), integers(i, 17, 5, 4), f32(0.013), i8(9), nil, f32(0.017), i8(-4))
	add("QGemm columns", contrib.QGemmConfig{TransB: true}, integers(u, 16, 3, 4), f32(0.021), u8(100), integers(i, 17, 5, 4), f32(0.013, 0.02, 0.03, 0.011, 0.009), i8(1, -2, 3, 0, 9), integers(dtype.Int32, 18, 3, 5), f32(0.037), u8(120))
	add("QGemm floats", contrib.QGemmConfig{Alpha: pointer[float32](2)}, integers(u, 16, 3, 4), f32(0.021), u8(100), integers(i, 17, 4, 5), f32(0.013), i8(-9), typed(dtype.Int32, []int{70, 80, 90}, 3, 1))
	add("MatMulIntegerToFloat", plain("MatMulIntegerToFloat"), integers(u, 19, 2, 3, 4), integers(i, 20, 4, 5), f32(0.021), f32(0.013), u8(100), i8(9), spread(1, 5))
	add("MatMulIntegerToFloat columns", plain("MatMulIntegerToFloat"), integers(i, 19, 3, 4), integers(i, 20, 4, 5), f32(0.021), f32(0.013, 0.02, 0.03, 0.011, 0.009), i8(100), i8(1, -2, 3, 0, 9))
	add("MatMulIntegerToFloat plain", plain("MatMulIntegerToFloat"), integers(u, 19, 3, 4), integers(u, 20, 4, 5), f32(0.021), f32(0.013))
	add("DynamicQuantizeMatMul", plain("DynamicQuantizeMatMul"), spread(1, 2, 3, 4), integers(i, 21, 4, 5), f32(0.013), i8(9), spread(2, 5))
	add("DynamicQuantizeMatMul columns", plain("DynamicQuantizeMatMul"), spread(1, 3, 4), integers(u, 21, 4, 5), f32(0.013, 0.02, 0.03, 0.011, 0.009), u8(1, 200, 3, 0, 9))
	add("DynamicQuantizeMatMul plain", plain("DynamicQuantizeMatMul"), spread(1, 3, 4), integers(i, 21, 4, 5), f32(0.013))

	nhwc := contrib.NhwcMaxPoolConfig{Kernel: []int{3, 2}}
	maxPool := func(f func(c *contrib.NhwcMaxPoolConfig)) contrib.NhwcMaxPoolConfig { c := nhwc; f(&c); return c }
	add("NhwcMaxPool", nhwc, integers(u, 22, 2, 6, 7, 3))
	add("NhwcMaxPool pads", maxPool(func(c *contrib.NhwcMaxPoolConfig) { c.Pads, c.Strides = []int{1, 0, 2, 1}, []int{2, 1} }), integers(i, 22, 1, 6, 7, 3))
	add("NhwcMaxPool ceil", maxPool(func(c *contrib.NhwcMaxPoolConfig) { c.CeilMode, c.Strides = true, []int{2, 2} }), integers(u, 23, 1, 6, 8, 3))
	add("NhwcMaxPool dilations", maxPool(func(c *contrib.NhwcMaxPoolConfig) { c.Dilations = []int{2, 3} }), integers(i, 23, 1, 7, 8, 2))
	add("NhwcMaxPool valid ceil", maxPool(func(c *contrib.NhwcMaxPoolConfig) { c.AutoPad, c.CeilMode, c.Strides = "VALID", true, []int{2, 2} }), integers(u, 24, 1, 6, 7, 3))
	add("NhwcMaxPool auto", maxPool(func(c *contrib.NhwcMaxPoolConfig) { c.AutoPad = "SAME_LOWER" }), integers(u, 24, 1, 6, 7, 3))
	conv := func(name string, c contrib.QLinearConvConfig, x, w dtype.Value, rest ...dtype.Value) {
		one := func(v dtype.Value, n int) dtype.Value { return typed(dtype.Of(v.(*tensor.Dense).Dtype()), []int{n}) }
		in := []dtype.Value{x, f32(0.021), one(x, 7), w, f32(0.013), one(w, 9), f32(0.31), one(x, 30)}
		if len(rest) > 0 { // scales, zero points and a bias of the columns
			in[4], in[5], in = rest[0], rest[1], append(in, rest[2])
		}
		add("QLinearConv"+name, c, in...)
	}
	conv("", contrib.QLinearConvConfig{}, integers(u, 25, 1, 3, 5, 6), integers(u, 26, 4, 3, 2, 3))
	conv(" last", contrib.QLinearConvConfig{ChannelsLast: true}, integers(u, 25, 2, 5, 6, 3), integers(i, 26, 4, 3, 2, 3))
	conv(" last all", contrib.QLinearConvConfig{ChannelsLast: true, Group: 2, Pads: []int{1, 0, 2, 1}, Strides: []int{2, 1}, Dilations: []int{1, 2}, Kernel: []int{2, 3}},
		integers(u, 27, 1, 6, 7, 4), integers(i, 28, 4, 2, 2, 3), f32(0.013, 0.02, 0.009, 0.03), i8(0, 0, 0, 0), i32(100, -200, 300, 40))
	conv(" auto", contrib.QLinearConvConfig{ChannelsLast: true, AutoPad: "SAME_UPPER"}, integers(i, 27, 1, 6, 7, 3), integers(i, 28, 2, 3, 3, 3))

	return slices.Concat(list, quantizerUses(), attentionUses())
}

func quantizerUses() []use {
	var list []use
	add := func(name string, cfg op.Config, in ...dtype.Value) {
		list = append(list, use{Case: optest.Case{Name: name, Config: cfg, In: in}})
	}
	for _, t := range []op.DType{dtype.Uint8, dtype.Int8, dtype.Uint16, dtype.Int16, dtype.Uint4, dtype.Int4} {
		scale := []float32{0.011, 0.017, 0.029}
		if t.Bits() == 4 {
			scale = []float32{0.11, 0.17, 0.29}
		}
		add("QuantizeLinear "+t.String(), contrib.QuantizeLinearConfig{}, spread(3, 2, 3, 4), f32(scale[1]), vectorOf(t, []int{7}))
		add("QuantizeLinear axis "+t.String(), contrib.QuantizeLinearConfig{Axis: pointer(1)}, spread(3, 2, 3, 4), f32(scale...), vectorOf(t, []int{1, 2, 3}))
		add("DequantizeLinear "+t.String(), contrib.DequantizeLinearConfig{}, integers(t, 4, 2, 3, 4), f32(0.017), vectorOf(t, []int{7}))
		add("DequantizeLinear axis "+t.String(), contrib.DequantizeLinearConfig{Axis: pointer(-2)}, integers(t, 4, 2, 3, 4), f32(0.011, 0.017, 0.029), vectorOf(t, []int{1, 2, 3}))
	}
	add("QuantizeLinear plain", contrib.QuantizeLinearConfig{}, spread(3, 2, 3, 4), f32(0.017))
	add("QuantizeLinear float16", contrib.QuantizeLinearConfig{}, optest.As(dtype.Float16, spread(3, 2, 3, 4).(*tensor.Dense)), dtype.Scalar(dtype.F16From(0.0171)), u8(100))
	add("DequantizeLinear int32", contrib.DequantizeLinearConfig{}, integers(dtype.Int32, 4, 2, 3), f32(0.017))
	add("DequantizeLinear float16", contrib.DequantizeLinearConfig{}, integers(dtype.Int8, 4, 2, 3), dtype.Scalar(dtype.F16From(0.0171)), i8(3))
	return list
}

func attentionUses() []use {
	var list []use
	const hidden, heads, batch, steps = 8, 2, 2, 3
	base := contrib.QAttentionConfig{Heads: heads}
	add := func(name string, f func(c *contrib.QAttentionConfig, in []dtype.Value) int) {
		c := base
		in := []dtype.Value{integers(dtype.Uint8, 31, batch, steps, 5), integers(dtype.Int8, 32, 5, 3*hidden), spread(33, 3*hidden), f32(0.011), f32(0.007), nil, u8(120), i8(5), nil}
		outputs := f(&c, in)
		for in[len(in)-1] == nil {
			in = in[:len(in)-1]
		}
		scales := []int{3, 4} // small numbers: differences are too coarse; MatMulIntegerToFloat checks theirs
		list = append(list, use{Case: optest.Case{Name: "QAttention " + name, Config: c, In: in, Outputs: outputs, Constant: scales}})
	}
	past := func(in []dtype.Value, length int) { in[8] = spread(34, 2, batch, heads, length, hidden/heads) }
	add("alone", func(c *contrib.QAttentionConfig, in []dtype.Value) int { return 1 })
	add("present", func(c *contrib.QAttentionConfig, in []dtype.Value) int { return 2 })
	add("columns", func(c *contrib.QAttentionConfig, in []dtype.Value) int {
		scales := optest.Spread(35, 0.004, 0.01, 3*hidden)
		in[4], in[7] = scales, integers(dtype.Int8, 36, 3*hidden)
		return 1
	})
	add("plain", func(c *contrib.QAttentionConfig, in []dtype.Value) int {
		in[1], in[6], in[7] = integers(dtype.Uint8, 37, 5, 3*hidden), nil, nil
		in[3] = f32(0.002)
		return 1
	})
	add("causal", func(c *contrib.QAttentionConfig, in []dtype.Value) int { c.Causal = true; return 1 })
	add("scale", func(c *contrib.QAttentionConfig, in []dtype.Value) int { c.Scale = pointer[float32](0.9); return 1 })
	add("past", func(c *contrib.QAttentionConfig, in []dtype.Value) int { past(in, 4); return 2 })
	add("causal past", func(c *contrib.QAttentionConfig, in []dtype.Value) int { c.Causal = true; past(in, 2); return 2 })
	add("lengths", func(c *contrib.QAttentionConfig, in []dtype.Value) int { in[5] = i32(2, 3); return 1 })
	add("starts", func(c *contrib.QAttentionConfig, in []dtype.Value) int { in[5] = i32(2, 3, 0, 1); return 1 })
	add("mask", func(c *contrib.QAttentionConfig, in []dtype.Value) int {
		in[5] = typed(dtype.Int32, []int{1, 0, 1, 1, 1, 0}, batch, steps)
		return 1
	})
	add("mask of steps", func(c *contrib.QAttentionConfig, in []dtype.Value) int {
		in[5] = typed(dtype.Int32, []int{1, 0, 1, 1, 1, 0, 1, 1, 1, 0, 1, 1, 1, 0, 0, 1, 1, 0}, batch, steps, steps)
		return 1
	})
	add("mask of past", func(c *contrib.QAttentionConfig, in []dtype.Value) int {
		past(in, 1)
		in[5] = typed(dtype.Int32, []int{1, 0, 1, 1, 1, 1, 0, 1}, batch, steps+1)
		return 2
	})
	add("no mask", func(c *contrib.QAttentionConfig, in []dtype.Value) int {
		in[5] = typed(dtype.Int32, []int{1, 1}, batch, 1)
		return 1
	})
	add("mask value", func(c *contrib.QAttentionConfig, in []dtype.Value) int {
		c.MaskValue = pointer[float32](-1)
		in[5] = typed(dtype.Int32, []int{1, 0, 1, 1, 1, 0}, batch, steps)
		return 1
	})
	add("causal mask", func(c *contrib.QAttentionConfig, in []dtype.Value) int {
		c.Causal, in[5] = true, typed(dtype.Int32, []int{0, 1, 1, 1, 1, 0}, batch, steps)
		return 1
	})
	return list
}

// TestQuantizedUses takes every use of an operator on integers through the checks of operators.
func TestQuantizedUses(t *testing.T) {
	golden := readGolden[typedOutput](t, quantizedFile)
	for _, u := range quantizedUses() {
		u.Ops = set(t)
		if !*update {
			if len(golden[u.Name]) == 0 {
				t.Errorf("%s has no expected values: go test -update", u.Name)
			}
			for _, w := range golden[u.Name] {
				u.Want = append(u.Want, w.dense(t))
			}
		}
		u.NoCut = "standard operators' couplings are tested with them"
		switch u.Config.Operator().Name {
		case "DynamicQuantizeMatMul":
			u.NoGrad = "it passes straight through rounding: TestDynamicGradient"
		case "DequantizeLinear":
			if dtype.Of(u.In[1].(*tensor.Dense).Dtype()) == dtype.Float16 {
				u.NoGrad = "float16 is too coarse for differences"
			}
		}
		optest.Run(t, u.Case)
	}
}

// The gradient of A is that of the product with the numbers that B stands for, as if A were not rounded.
func TestDynamicGradient(t *testing.T) {
	a, b := spread(1, 3, 4), integers(dtype.Int8, 21, 4, 5)
	g := graphOf(t, use{Case: optest.Case{Name: "dynamic", Config: plain("DynamicQuantizeMatMul"), In: []dtype.Value{a, b, f32(0.013), i8(9)}}})
	err := g.Edit(func(e *nn.Edit) {
		e.Output("sum", e.Node(std.ReduceSumConfig{}, e.Value("y0")).Out(0))
	})
	if err != nil {
		t.Fatal(err)
	}
	out, err := g.Grad(t.Context(), nn.Feed{"x0": a, "x1": b, "x2": f32(0.013), "x3": i8(9)}, "sum", "x0")
	if err != nil {
		t.Fatal(err)
	}
	var want []float32
	weights := dtype.Slice[int8](b.(*tensor.Dense))
	for range 3 {
		for k := range 4 {
			sum := float32(0)
			for j := range 5 {
				sum += (float32(weights[5*k+j]) - 9) * 0.013
			}
			want = append(want, sum)
		}
	}
	got := dtype.Slice[float32](out["x0"].(*tensor.Dense))
	for i := range want {
		if d := got[i] - want[i]; d > 1e-5 || d < -1e-5 {
			t.Fatalf("got %v, want %v", got, want)
		}
	}
}

// typedOutput is an output as testdata/quantized.json has it.
type typedOutput struct {
	Type  string    `json:"type"`
	Shape []int     `json:"shape"`
	Data  []float64 `json:"data"`
}

func (x typedOutput) dense(t *testing.T) *tensor.Dense {
	t.Helper()
	kind, err := dtype.Parse(x.Type)
	if err != nil {
		t.Fatal(err)
	}
	d, err := dtype.FromFloats(kind, x.Data, x.Shape...)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

const quantizedFile = "testdata/quantized.json"

// TestQuantizedInRuntime compares with ONNX Runtime itself, and with -update writes what it computes to
// testdata/quantized.json.
func TestQuantizedInRuntime(t *testing.T) {
	ort := oracle.ORT(t)
	golden := map[string][]typedOutput{}
	for _, u := range quantizedUses() {
		got, want, err := both(t, ort, u)
		if err != nil {
			t.Errorf("%s: %v", u.Name, err)
			continue
		}
		for i := range max(u.Outputs, 1) {
			name := fmt.Sprintf("y%d", i)
			d, w := got[name].(*tensor.Dense), want[name]
			if err := oracle.Close(oracle.Tensor{DType: dtype.Of(d.Dtype()).String(), Shape: append([]int{}, d.Shape()...), Data: dtype.Bytes(d)}, w, 1e-4, 1e-5); err != nil {
				t.Errorf("%s: output %d: %v", u.Name, i, err)
			}
			data := dtype.New(dtype.Of(d.Dtype()), w.Shape...)
			if copy(dtype.Bytes(data), w.Data) != len(w.Data) {
				t.Fatalf("%s: %d bytes of %v", u.Name, len(w.Data), d.Dtype())
			}
			numbers, err := dtype.Float64s(data)
			if err != nil {
				t.Fatal(err)
			}
			kind := w.DType
			if strings.HasPrefix(u.Name, "Quantize") && dtype.Of(u.In[len(u.In)-1].(*tensor.Dense).Dtype()).Bits() == 4 {
				kind = dtype.Of(u.In[len(u.In)-1].(*tensor.Dense).Dtype()).String()
			}
			golden[u.Name] = append(golden[u.Name], typedOutput{kind, w.Shape, numbers})
		}
	}
	if *update {
		b, err := json.Marshal(golden)
		if err == nil {
			b = []byte(strings.ReplaceAll(string(b), "}],\"", "}],\n\""))
			err = os.WriteFile(quantizedFile, append(b, '\n'), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// both returns the outputs that we compute of a saved graph of one node, and those of ONNX Runtime. Integers of 4 bits, which
// the runtime's interface lacks, are made of int8 in the graph, and such results are made int8.
func both(t *testing.T, ort *oracle.Runtime, u use) (nn.Feed, map[string]oracle.Tensor, error) {
	t.Helper()
	feed, in := nn.Feed{}, map[string]oracle.Tensor{}
	for i, v := range u.In {
		if v != nil {
			d := v.(*tensor.Dense)
			if dtype.Of(d.Dtype()).Bits() == 4 {
				d = optest.As(dtype.Int8, d)
			}
			name := fmt.Sprintf("x%d", i)
			feed[name], in[name] = d, oracle.Tensor{DType: dtype.Of(d.Dtype()).String(), Shape: append([]int{}, d.Shape()...), Data: dtype.Bytes(d)}
		}
	}
	file := filepath.Join(t.TempDir(), "model.onnx")
	if err := onnxio.Save(file, widened(t, u)); err != nil {
		return nil, nil, err
	}
	again, err := onnxio.Load(file)
	if err != nil {
		return nil, nil, err
	}
	got, err := again.Eval(t.Context(), feed)
	if err != nil {
		return nil, nil, err
	}
	want, err := ort.RunFile(file, in)
	return got, want, err
}

// widened is graphOf, with integers of 4 bits passed as int8.
func widened(t *testing.T, u use) *nn.Graph {
	t.Helper()
	g := graphOf(t, u)
	few := func(v *nn.Value) bool { return v.Type().DType.Bits() == 4 }
	if !slices.ContainsFunc(g.Inputs(), few) && !slices.ContainsFunc(g.Outputs(), few) {
		return g
	}
	g = nn.NewGraph("one", set(t), map[string]int{"": 21, contrib.Domain: 1})
	err := g.Edit(func(e *nn.Edit) {
		var in []*nn.Value
		for i, v := range u.In {
			typ := op.TypeOf(v)
			if typ.DType.Bits() != 4 {
				in = append(in, e.Input(fmt.Sprintf("x%d", i), typ.String()))
				continue
			}
			x := e.Input(fmt.Sprintf("x%d", i), typ.Of(dtype.Int8).String())
			in = append(in, e.Node(std.CastConfig{To: typ.DType}, x).Out(0))
		}
		y := e.Node(u.Config, in...).Out(0)
		if e.Err() == nil && few(y) {
			y = e.Node(std.CastConfig{To: dtype.Int8}, y).Out(0)
		}
		e.Output("y0", y)
	})
	if err != nil {
		t.Fatalf("%s: %v", u.Name, err)
	}
	return g
}

// A zero point that is absent is zero. ONNX Runtime declares them optional, and fails where they are.
func TestAbsentZeroPoints(t *testing.T) {
	tried := 0
	for _, u := range quantizedUses() {
		o, err := set(t).Of(u.Config)
		if err != nil {
			t.Fatal(err)
		}
		for i, s := range o.In.List() {
			if !s.Optional || !strings.HasSuffix(s.Name, "zero_point") || i >= len(u.In) || u.In[i] == nil || u.In[i].(*tensor.Dense).Shape().Dims() > 0 {
				continue
			}
			if o.Name == "QGemm" || o.Name == "QuantizeLinear" {
				continue // there the zero point says what the result is
			}
			zero, absent := u.Case, u.Case
			zero.Ops, absent.Ops = set(t), set(t)
			zero.In, absent.In = slices.Clone(u.In), slices.Clone(u.In)
			zero.In[i] = dtype.New(dtype.Of(u.In[i].(*tensor.Dense).Dtype()))
			absent.In[i] = nil
			want, err := optest.Forward(zero)
			if err != nil {
				t.Fatal(err)
			}
			got, err := optest.Forward(absent)
			if err != nil {
				t.Errorf("%s without %s: %v", u.Name, s.Name, err)
				continue
			}
			if tried++; string(dtype.Bytes(got[0].(*tensor.Dense))) != string(dtype.Bytes(want[0].(*tensor.Dense))) {
				t.Errorf("%s without %s: %v, want %v", u.Name, s.Name, got[0], want[0])
			}
		}
	}
	if tried < 40 {
		t.Errorf("tried %d", tried)
	}
}

package contrib_test

import (
	"math/rand/v2"

	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/contrib"
	"github.com/graft-ml/graft/nn/op/optest"
)

// draws are random uses of the operators that ONNX Runtime has for the CPU: every attribute takes its values and optional
// inputs come and go. A seed gives one use.
var draws = map[string]func(d dice) trial{
	"Gelu": func(d dice) trial { return use1(plain("Gelu"), d.floats(d.shape(1, 4)...)) },
	"QuickGelu": func(d dice) trial {
		return use1(contrib.QuickGeluConfig{Alpha: d.float(0.5, 2)}, d.floats(d.shape(1, 4)...))
	},
	"FastGelu": func(d dice) trial {
		s := d.shape(2, 4)
		return use1(plain("FastGelu"), d.floats(s...), d.or(d.floats(s[len(s)-1])))
	},
	"BiasGelu": func(d dice) trial {
		s := d.shape(2, 4)
		return use1(plain("BiasGelu"), d.floats(s...), d.floats(s[len(s)-1]))
	},
	"FusedMatMul":                      drawFusedMatMul,
	"FusedGemm":                        drawFusedGemm,
	"FusedConv":                        drawFusedConv,
	"SimplifiedLayerNormalization":     drawSimplified,
	"SkipLayerNormalization":           drawSkipNorm,
	"SkipSimplifiedLayerNormalization": drawSkipSimplified,
	"EmbedLayerNormalization":          drawEmbed,
	"RotaryEmbedding":                  drawRotary,
	"Attention":                        drawAttention,
	"MultiHeadAttention":               drawMultiHead,
	"DecoderMaskedMultiHeadAttention":  drawDecoder,
	"GroupQueryAttention":              drawGroupQuery,
	"MatMulNBits":                      drawMatMulNBits,
	"GatherBlockQuantized":             drawGatherBlocks,
	"Inverse": func(d dice) trial {
		n := 1 + d.IntN(5)
		u := use1(plain("Inverse"), d.floats(append(d.shape(0, 2), n, n)...))
		u.NoLow, u.NoWide, u.Tol, u.GradTol = "differences of products", "differences of products", 2e-3, 1e-3
		return u
	},
	"Pad":                      drawPad,
	"QLinearAdd":               drawBinary("QLinearAdd"),
	"QLinearMul":               drawBinary("QLinearMul"),
	"QLinearSigmoid":           drawUnary(func(dice) op.Config { return plain("QLinearSigmoid") }),
	"QLinearLeakyRelu":         drawUnary(func(d dice) op.Config { return contrib.QLinearLeakyReluConfig{Alpha: d.float(0, 1)} }),
	"QLinearSoftmax":           drawQuantizedSoftmax,
	"QLinearConcat":            drawQuantizedConcat,
	"QLinearAveragePool":       drawQuantizedPool,
	"QLinearGlobalAveragePool": drawQuantizedGlobal,
	"NhwcMaxPool":              drawNhwcMaxPool,
	"QLinearConv":              drawQuantizedConv,
	"QGemm":                    drawQGemm,
	"MatMulIntegerToFloat":     drawIntegerToFloat,
	"DynamicQuantizeMatMul":    drawDynamic,
	"DynamicQuantizeLSTM":      drawDynamicLSTM,
	"QAttention":               drawQAttention,
	"QuantizeLinear":           drawQuantize,
	"DequantizeLinear":         drawDequantize,
}

// dice draw sizes, numbers and what is there.
type dice struct{ *rand.Rand }

func diceOf(seed int) dice { return dice{rand.New(rand.NewPCG(uint64(seed), 11))} }

// use1 returns a use with one output.
func use1(c op.Config, v ...dtype.Value) trial {
	return trial{Case: optest.Case{Name: c.Operator().Name, Config: c, In: v, Outputs: 1}}
}

func (d dice) yes() bool { return d.IntN(2) == 0 }

// shape has low to high dimensions.
func (d dice) shape(low, high int) []int {
	s := make([]int, low+d.IntN(high-low+1))
	for i := range s {
		s[i] = 1 + d.IntN(4)
	}
	return s
}

func (d dice) floats(dims ...int) dtype.Value { return spread(d.Uint64(), dims...) }

func (d dice) integers(t op.DType, limit int, dims ...int) dtype.Value {
	return some(d.Uint64(), t, limit, dims...)
}

// or is v, or nothing.
func (d dice) or(v dtype.Value) dtype.Value {
	if d.yes() {
		return v
	}
	return nil
}

// float returns a number, or the default.
func (d dice) float(low, high float32) *float32 {
	if d.yes() {
		return nil
	}
	return pointer(low + d.Float32()*(high-low))
}

func one[T any](d dice, from ...T) T { return from[d.IntN(len(from))] }

func drawFusedMatMul(d dice) trial {
	c := contrib.FusedMatMulConfig{Alpha: d.float(-2, 2), TransA: d.yes(), TransB: d.yes()}
	m, k, n := 1+d.IntN(4), 1+d.IntN(4), 1+d.IntN(4)
	batch := d.shape(0, 2)
	if len(batch) > 0 && d.IntN(3) == 0 {
		c.TransBatchA, c.TransBatchB = d.yes(), d.yes()
	}
	operand := func(rows, cols int, trans, front bool) dtype.Value {
		s := append([]int{}, batch...)
		if trans {
			rows, cols = cols, rows
		}
		if front {
			s = append(s, rows, cols)
			// the first axis of the operand goes in front of its last one
			return d.floats(append([]int{s[len(s)-2]}, append(append([]int{}, batch...), cols)...)...)
		}
		return d.floats(append(s, rows, cols)...)
	}
	return use1(c, operand(m, k, c.TransA, c.TransBatchA), operand(k, n, c.TransB, c.TransBatchB))
}

func drawFusedGemm(d dice) trial {
	c := contrib.FusedGemmConfig{Alpha: d.float(-2, 2), Beta: d.float(-2, 2), TransA: d.yes(), TransB: d.yes(),
		Activation: one(d, "Relu", "Sigmoid", "Tanh", "LeakyRelu", "Elu", "HardSigmoid", "Softplus", "Softsign", "ThresholdedRelu")}
	switch c.Activation {
	case "LeakyRelu", "Elu", "ThresholdedRelu":
		c.ActAlpha = d.float(0.1, 0.9)
	case "HardSigmoid":
		c.ActAlpha, c.ActBeta = d.float(0.1, 0.4), d.float(0.3, 0.6)
	}
	m, k, n := 1+d.IntN(4), 1+d.IntN(4), 1+d.IntN(4)
	a, b := []int{m, k}, []int{k, n}
	if c.TransA {
		a = []int{k, m}
	}
	if c.TransB {
		b = []int{n, k}
	}
	return use1(c, d.floats(a...), d.floats(b...), d.or(d.floats(one(d, []int{m, n}, []int{n}, []int{1, n}, []int{m, 1}, []int{1})...)))
}

func drawFusedConv(d dice) trial {
	axes, group := 1+d.IntN(3), 1+d.IntN(2)
	c := contrib.FusedConvConfig{Group: group, AutoPad: "NOTSET", Activation: one(d, "", "Relu", "Sigmoid", "Tanh", "LeakyRelu", "Clip", "HardSigmoid")}
	switch c.Activation {
	case "LeakyRelu":
		c.Params = []float32{0.2}
	case "Clip":
		c.Params = []float32{-0.5, 0.7}
	case "HardSigmoid":
		c.Params = []float32{0.15, 0.45}
	}
	x, w := []int{1 + d.IntN(2), 2 * group}, []int{group * (1 + d.IntN(3)), 2}
	for range axes {
		k := 1 + d.IntN(3)
		c.Kernel, w = append(c.Kernel, k), append(w, k)
		c.Strides, c.Dilations = append(c.Strides, 1+d.IntN(2)), append(c.Dilations, 1+d.IntN(2))
		x = append(x, 6+d.IntN(3))
	}
	if c.AutoPad = one(d, "NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID"); c.AutoPad == "NOTSET" {
		for range 2 * axes {
			c.Pads = append(c.Pads, d.IntN(2))
		}
	}
	u := use1(c, d.floats(x...), d.floats(w...), d.or(d.floats(w[0])))
	if len(u.In) == 3 && u.In[2] == nil {
		u.In = u.In[:2]
	} else if y, err := optest.Forward(optest.Case{Config: contrib.FusedConvConfig(c), Ops: drawnSet, In: u.In}); err == nil && d.yes() {
		u.In = append(u.In, d.floats(op.TypeOf(y[0]).Sizes()...))
	}
	return u
}

func drawSimplified(d dice) trial {
	s := d.shape(2, 4)
	c := contrib.SimplifiedLayerNormalizationConfig{Epsilon: d.float(1e-5, 1e-2)}
	axis := len(s) - 1
	if d.yes() {
		axis = d.IntN(len(s))
		c.Axis = pointer(axis - len(s)*d.IntN(2))
	}
	u := use1(c, d.floats(s...), d.floats(s[axis:]...))
	u.Outputs = 1 + d.IntN(2)
	return u
}

func drawSkipNorm(d dice) trial {
	s := []int{1 + d.IntN(3), 1 + d.IntN(3), 2 + d.IntN(4)}
	if d.IntN(4) == 0 {
		s = s[1:]
	}
	skip := one(d, s, s, s[len(s)-2:])
	if len(s) == 3 && d.IntN(4) == 0 {
		skip = append([]int{1}, s[1:]...)
	}
	last := s[len(s)-1]
	u := use1(contrib.SkipLayerNormalizationConfig{Epsilon: d.float(1e-5, 1e-2)}, d.floats(s...), d.floats(skip...), d.floats(last), d.or(d.floats(last)), d.or(d.floats(last)))
	if d.yes() {
		u.Outputs, u.Skip = 4, []int{1, 2}
	}
	return u
}

func drawSkipSimplified(d dice) trial {
	u := drawSkipNorm(d)
	u.Name = "SkipSimplifiedLayerNormalization"
	u.Config = contrib.SkipSimplifiedLayerNormalizationConfig(u.Config.(contrib.SkipLayerNormalizationConfig))
	u.In = append(u.In[:3:3], u.In[4])
	return u
}

func drawEmbed(d dice) trial {
	batch, seq, width := 1+d.IntN(3), 1+d.IntN(4), 2+d.IntN(4)
	c := contrib.EmbedLayerNormalizationConfig{Epsilon: d.float(1e-5, 1e-2), MaskIndexType: d.IntN(2)}
	v := in(d.integers(dtype.Int32, 7, batch, seq), nil, d.floats(7, width), d.floats(5, width), nil, d.floats(width), d.floats(width), nil, nil)
	if d.yes() {
		v[1], v[4] = d.integers(dtype.Int32, 2, batch, seq), d.floats(2, width)
	}
	v[7] = d.or(d.integers(dtype.Int32, 2, batch, seq))
	v[8] = d.or(d.integers(dtype.Int32, 5, one(d, batch, 1), seq))
	u := use1(c, v...)
	u.Outputs = 2 + d.IntN(2)
	return u
}

func drawRotary(d dice) trial {
	batch, seq, heads, half := 1+d.IntN(2), 1+d.IntN(3), 1+d.IntN(3), 4*(1+d.IntN(2))
	c := contrib.RotaryEmbeddingConfig{Interleaved: d.yes(), Scale: d.float(0.5, 2)}
	size := 2 * half
	if d.yes() {
		c.NumHeads = heads
		if d.yes() {
			c.RotaryDim, size = 2*half, size+4
		}
	}
	x := []int{batch, seq, heads * size}
	if d.IntN(3) == 0 {
		x = []int{batch, heads, seq, size}
	}
	at := numbers(dtype.Int64, []int{1}, d.IntN(3))
	if d.yes() {
		at = d.integers(dtype.Int64, 6, batch, seq)
	}
	return use1(c, d.floats(x...), at, d.floats(6, half), d.floats(6, half))
}

func drawPad(d dice) trial {
	s := make([]int, 1+d.IntN(4))
	pads := make([]int, 2*len(s))
	for i := range s {
		s[i] = 3 + d.IntN(3)
	}
	for i := range pads {
		pads[i] = d.IntN(4) - 1
	}
	dims := one(d, []int{len(pads)}, []int{1, len(pads)})
	u := use1(contrib.PadConfig{Mode: one(d, "constant", "reflect", "edge", "wrap")}, d.floats(s...), numbers(dtype.Int64, dims, pads...))
	if d.yes() {
		u.In = append(u.In, d.floats(1))
	}
	u.params = one(d, nil, []int{1})
	return u
}

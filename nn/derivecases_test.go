package nn_test

import (
	"fmt"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/layers"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/std"
)

// derived are operators whose gradients are written out in operators of files: y of x, which depends on parameters.
// The sizes N and T of x are others in the test than any that Derive saw.
var derived = []struct {
	name string
	x    string
	y    func(d deriving, x *nn.Value) *nn.Value
}{
	{"linear", "float32[N,6]", func(d deriving, x *nn.Value) *nn.Value { return d.layer(layers.Linear{Out: 4}, x) }},
	{"matmul", "float32[N,T,6]", func(d deriving, x *nn.Value) *nn.Value {
		return d.do(op.Plain("MatMul"), d.do(op.Plain("MatMul"), x, d.param(6, 6)), d.do(std.TransposeConfig{Perm: []int{0, 2, 1}}, x))
	}},
	{"matmul broadcast", "float32[N,2,3,6]", func(d deriving, x *nn.Value) *nn.Value { return d.do(op.Plain("MatMul"), x, d.param(2, 6, 5)) }},
	{"gemm", "float32[N,6]", func(d deriving, x *nn.Value) *nn.Value {
		return d.do(std.GemmConfig{TransA: true, Alpha: addressOf(float32(0.5))}, x, x, d.param(1))
	}},
	{"add", "float32[N,3,4]", func(d deriving, x *nn.Value) *nn.Value { return d.do(op.Plain("Add"), x, d.param(3, 1)) }},
	{"sub", "float32[N,3,4]", func(d deriving, x *nn.Value) *nn.Value { return d.do(op.Plain("Sub"), d.param(4), x) }},
	{"div", "float32[N,3,4]", func(d deriving, x *nn.Value) *nn.Value { return d.do(op.Plain("Div"), x, d.above(3, 1)) }},
	{"pow", "float32[N,3]", func(d deriving, x *nn.Value) *nn.Value {
		return d.do(op.Plain("Pow"), d.do(op.Plain("Softplus"), x), d.above(3))
	}},
	{"pow of itself", "float32[N,3]", func(d deriving, x *nn.Value) *nn.Value {
		x = d.do(op.Plain("Softplus"), x)
		return d.do(op.Plain("Pow"), x, x)
	}},
	{"pow by another type", "float32[N,3]", func(d deriving, x *nn.Value) *nn.Value {
		return d.do(op.Plain("Pow"), d.do(op.Plain("Softplus"), x), d.do(std.CastConfig{To: dtype.Float64}, x))
	}},
	{"cross-entropy", "float32[N,4,T]", func(d deriving, x *nn.Value) *nn.Value {
		return d.do(std.SoftmaxCrossEntropyLossConfig{IgnoreIndex: addressOf(2)}, x, d.labels(x), d.param(4))
	}},
	{"cross-entropy of each label", "float32[N,4]", func(d deriving, x *nn.Value) *nn.Value {
		return d.do(std.SoftmaxCrossEntropyLossConfig{Reduction: "none"}, x, d.labels(x))
	}},
	{"log probabilities", "float32[N,4]", func(d deriving, x *nn.Value) *nn.Value {
		return d.e.NodeN(std.SoftmaxCrossEntropyLossConfig{}, 2, x, d.labels(x), d.param(4)).Out(1)
	}},
	{"negative log likelihood", "float32[N,4,T]", func(d deriving, x *nn.Value) *nn.Value {
		return d.do(std.NegativeLogLikelihoodLossConfig{Reduction: "sum"}, x, d.labels(x), d.param(4))
	}},
	{"max", "float32[N,3]", func(d deriving, x *nn.Value) *nn.Value { return d.do(op.Plain("Max"), x, d.param(3), d.param(1)) }},
	{"min", "float32[N,3]", func(d deriving, x *nn.Value) *nn.Value { return d.do(op.Plain("Min"), x, d.param(3)) }},
	{"mean", "float32[N,3]", func(d deriving, x *nn.Value) *nn.Value { return d.do(op.Plain("Mean"), x, d.param(3)) }},
	{"clip", "float32[N,3]", func(d deriving, x *nn.Value) *nn.Value {
		return d.do(std.ClipConfig{}, x, d.number(-0.5), d.number(0.7))
	}},
	{"where", "float32[N,3]", func(d deriving, x *nn.Value) *nn.Value {
		return d.do(op.Plain("Where"), d.do(op.Plain("Greater"), x, d.number(0)), x, d.param(3))
	}},
	{"softmax", "float32[N,3,4]", func(d deriving, x *nn.Value) *nn.Value { return d.do(std.SoftmaxConfig{Axis: addressOf(1)}, x) }},
	{"logsoftmax", "float32[N,T]", func(d deriving, x *nn.Value) *nn.Value { return d.do(std.LogSoftmaxConfig{}, x) }},
	{"conv", "float32[N,4,9,8]", func(d deriving, x *nn.Value) *nn.Value {
		return d.do(std.ConvConfig{Strides: []int{2, 1}, Pads: []int{1, 0, 0, 2}}, x, d.param(6, 4, 3, 2), d.param(6))
	}},
	{"conv grouped", "float32[N,4,7,7]", func(d deriving, x *nn.Value) *nn.Value {
		return d.do(std.ConvConfig{Group: 2, Strides: []int{3, 2}, Dilations: []int{2, 1}, Pads: []int{1, 0, 0, 2}}, x, d.param(6, 2, 2, 3))
	}},
	{"conv depthwise", "float32[N,4,7,7]", func(d deriving, x *nn.Value) *nn.Value {
		return d.do(std.ConvConfig{Group: 4, Pads: []int{1, 1, 1, 1}}, x, d.param(4, 1, 3, 3))
	}},
	{"conv of any length", "float32[N,2,T]", func(d deriving, x *nn.Value) *nn.Value {
		return d.do(std.ConvConfig{Strides: []int{2}, Pads: []int{1, 1}}, x, d.param(3, 2, 3))
	}},
	{"conv transposed", "float32[N,4,5,4]", func(d deriving, x *nn.Value) *nn.Value {
		return d.do(std.ConvTransposeConfig{Group: 2, Strides: []int{2, 2}, Pads: []int{1, 0, 1, 0}, OutputPadding: []int{1, 0}}, x, d.param(4, 3, 3, 2), d.param(6))
	}},
	{"max pool", "float32[N,2,7,8]", func(d deriving, x *nn.Value) *nn.Value {
		return d.do(std.MaxPoolConfig{Kernel: []int{3, 2}, Strides: []int{2, 1}, Pads: []int{1, 0, 1, 1}}, x)
	}},
	{"max pool of any size", "float32[N,2,T,8]", func(d deriving, x *nn.Value) *nn.Value {
		return d.do(std.MaxPoolConfig{Kernel: []int{2, 2}, Strides: []int{2, 2}}, x)
	}},
	{"average pool", "float32[N,2,7,8]", func(d deriving, x *nn.Value) *nn.Value {
		return d.do(std.AveragePoolConfig{Kernel: []int{3, 2}, Strides: []int{2, 1}, Pads: []int{1, 0, 1, 1}}, x)
	}},
	{"average pool, padding counts", "float32[N,2,7,8]", func(d deriving, x *nn.Value) *nn.Value {
		return d.do(std.AveragePoolConfig{Kernel: []int{3, 3}, Strides: []int{2, 2}, Pads: []int{1, 1, 1, 1}, CountIncludePad: true}, x)
	}},
	{"global average pool", "float32[N,2,T,8]", func(d deriving, x *nn.Value) *nn.Value { return d.do(op.Plain("GlobalAveragePool"), x) }},
	{"global max pool", "float32[N,2,T,8]", func(d deriving, x *nn.Value) *nn.Value { return d.do(op.Plain("GlobalMaxPool"), x) }},
	{"batch norm", "float32[N,3,4,5]", func(d deriving, x *nn.Value) *nn.Value { return d.layer(layers.BatchNorm{}, x) }},
	{"batch norm of a matrix", "float32[N,3]", func(d deriving, x *nn.Value) *nn.Value { return d.layer(layers.BatchNorm{}, x) }},
	{"layer norm", "float32[N,T,6]", func(d deriving, x *nn.Value) *nn.Value {
		return d.do(std.LayerNormalizationConfig{}, x, d.param(6), d.param(6))
	}},
	{"layer norm of two axes", "float32[N,3,6]", func(d deriving, x *nn.Value) *nn.Value {
		return d.do(std.LayerNormalizationConfig{Axis: addressOf(-2)}, x, d.param(6), d.param(3, 6))
	}},
	{"rms norm", "float32[N,T,6]", func(d deriving, x *nn.Value) *nn.Value {
		return d.do(std.RMSNormalizationConfig{}, x, d.param(6))
	}},
	{"group norm", "float32[N,6,4,5]", func(d deriving, x *nn.Value) *nn.Value {
		return d.do(std.GroupNormalizationConfig{NumGroups: 2}, x, d.param(6), d.param(6))
	}},
	{"instance norm", "float32[N,6,T,5]", func(d deriving, x *nn.Value) *nn.Value {
		return d.do(std.InstanceNormalizationConfig{}, x, d.param(6), d.param(6))
	}},
	{"lrn", "float32[N,6,3,T]", func(d deriving, x *nn.Value) *nn.Value {
		return d.do(std.LRNConfig{Size: 4, Alpha: addressOf[float32](0.5)}, x)
	}},
	{"mean variance norm", "float32[N,3,4,T]", func(d deriving, x *nn.Value) *nn.Value { return d.do(std.MeanVarianceNormalizationConfig{}, x) }},
	{"lp norm 2", "float32[N,3,T]", func(d deriving, x *nn.Value) *nn.Value { return d.do(std.LpNormalizationConfig{Axis: addressOf(1)}, x) }},
	{"lp norm 1", "float32[N,3,T]", func(d deriving, x *nn.Value) *nn.Value { return d.do(std.LpNormalizationConfig{P: 1}, x) }},
	{"scatter elements", "float32[N,3]", func(d deriving, x *nn.Value) *nn.Value {
		at := d.do(std.CastConfig{To: dtype.Int64}, d.do(std.ClipConfig{}, x, d.number(0), d.number(2)))
		return d.do(std.ScatterElementsConfig{Axis: 1, Reduction: "add"}, x, at, d.do(op.Plain("Mul"), x, d.param(3)))
	}},
	{"gather nd", "float32[N,3]", func(d deriving, x *nn.Value) *nn.Value {
		at := d.do(std.CastConfig{To: dtype.Int64}, d.do(std.ClipConfig{}, x, d.number(0), d.number(2)))
		return d.do(op.Plain("Mul"), d.do(std.GatherNDConfig{}, d.param(3, 3, 3), at), d.do(std.ReduceSumConfig{KeepDims: new(bool)}, x, d.ints(1)))
	}},
	{"reduce sum", "float32[N,3,T]", func(d deriving, x *nn.Value) *nn.Value {
		return d.do(std.ReduceSumConfig{KeepDims: addressOf(false)}, x, d.ints(1))
	}},
	{"reduce mean", "float32[N,3,T]", func(d deriving, x *nn.Value) *nn.Value { return d.do(std.ReduceMeanConfig{}, x, d.ints(0, 2)) }},
	{"reduce max", "float32[N,3,T]", func(d deriving, x *nn.Value) *nn.Value { return d.do(std.ReduceMaxConfig{}, x, d.ints(2)) }},
	{"reduce min", "float32[N,3,T]", func(d deriving, x *nn.Value) *nn.Value { return d.do(std.ReduceMinConfig{}, x, d.ints(1)) }},
	{"reduce prod", "float32[N,3,T]", func(d deriving, x *nn.Value) *nn.Value { return d.do(std.ReduceProdConfig{}, x, d.ints(1)) }},
	{"reduce prod with zeros", "float32[N,3]", func(d deriving, x *nn.Value) *nn.Value {
		return d.do(std.ReduceProdConfig{}, d.do(op.Plain("Relu"), x), d.ints(1))
	}},
	{"reduce l1", "float32[N,3,T]", func(d deriving, x *nn.Value) *nn.Value { return d.do(std.ReduceL1Config{}, x, d.ints(1)) }},
	{"reduce l2", "float32[N,3,T]", func(d deriving, x *nn.Value) *nn.Value { return d.do(std.ReduceL2Config{}, x, d.ints(1)) }},
	{"reduce logsumexp", "float32[N,3,T]", func(d deriving, x *nn.Value) *nn.Value { return d.do(std.ReduceLogSumExpConfig{}, x, d.ints(1)) }},
	{"reduce sumsquare", "float32[N,3,T]", func(d deriving, x *nn.Value) *nn.Value { return d.do(std.ReduceSumSquareConfig{}, x, d.ints(1)) }},
	{"reduce logsum", "float32[N,3,T]", func(d deriving, x *nn.Value) *nn.Value {
		return d.do(std.ReduceLogSumConfig{}, d.do(op.Plain("Exp"), x), d.ints(1))
	}},
	{"gather rows", "float32[N,3]", func(d deriving, x *nn.Value) *nn.Value {
		at := d.do(std.CastConfig{To: dtype.Int64}, d.do(std.ClipConfig{}, x, d.number(0), d.number(4)))
		return d.do(op.Plain("Add"), d.do(std.GatherConfig{}, d.param(5, 2), at), d.do(std.UnsqueezeConfig{}, x, d.ints(2)))
	}},
	{"gather an axis", "float32[N,3,4]", func(d deriving, x *nn.Value) *nn.Value {
		return d.do(std.GatherConfig{Axis: 1}, x, d.ints(2, 0, 2, -1))
	}},
	{"gather elements", "float32[N,3]", func(d deriving, x *nn.Value) *nn.Value {
		return d.do(std.GatherElementsConfig{Axis: 1}, x, d.do(std.CastConfig{To: dtype.Int64}, d.do(std.ClipConfig{}, x, d.number(0), d.number(2))))
	}},
	{"slice", "float32[N,7,6]", func(d deriving, x *nn.Value) *nn.Value {
		return d.do(std.SliceConfig{}, x, d.ints(1, -2), d.ints(6, -100), d.ints(1, 2), d.ints(2, -1))
	}},
	{"slice of the batch", "float32[N,6]", func(d deriving, x *nn.Value) *nn.Value {
		return d.do(std.SliceConfig{}, x, d.ints(1), d.ints(1000), d.ints(0))
	}},
	{"split and concat", "float32[N,6]", func(d deriving, x *nn.Value) *nn.Value {
		parts := d.e.NodeN(std.SplitConfig{Axis: 1}, 2, x, d.ints(2, 4))
		return d.do(std.ConcatConfig{Axis: 1}, parts.Out(1), d.do(op.Plain("Exp"), parts.Out(0)), x)
	}},
	{"pad", "float32[N,3,4]", func(d deriving, x *nn.Value) *nn.Value { return d.do(std.PadConfig{}, x, d.ints(0, 1, 2, 0, 0, 3)) }},
	{"pad by reflection", "float32[N,3,4]", func(d deriving, x *nn.Value) *nn.Value {
		return d.do(std.PadConfig{Mode: "reflect"}, x, d.ints(0, 1, 2, 0, 0, 3))
	}},
	{"resize linear", "float32[N,2,4,5]", func(d deriving, x *nn.Value) *nn.Value {
		return d.do(std.ResizeConfig{Mode: "linear", Coordinates: "align_corners"}, x, nil, nil, d.sizes(x, 7, 8))
	}},
	{"resize nearest", "float32[N,2,4,5]", func(d deriving, x *nn.Value) *nn.Value {
		return d.do(std.ResizeConfig{Mode: "nearest"}, x, nil, d.floats(1, 1, 2, 2))
	}},
	{"einsum", "float32[N,T,3]", func(d deriving, x *nn.Value) *nn.Value {
		return d.do(std.EinsumConfig{Equation: "nti,ij,ntj->nt"}, x, d.param(3, 3), x)
	}},
	{"expand", "float32[N,1,3]", func(d deriving, x *nn.Value) *nn.Value { return d.do(op.Plain("Expand"), x, d.ints(1, 4, 1)) }},
	{"tile", "float32[N,2,3]", func(d deriving, x *nn.Value) *nn.Value { return d.do(op.Plain("Tile"), x, d.ints(1, 2, 3)) }},
	{"transpose and reshape", "float32[N,2,3]", func(d deriving, x *nn.Value) *nn.Value {
		return d.do(std.ReshapeConfig{}, d.do(std.TransposeConfig{Perm: []int{2, 0, 1}}, x), d.ints(3, -1))
	}},
	{"cumulative sum", "float32[N,4]", func(d deriving, x *nn.Value) *nn.Value { return d.do(std.CumSumConfig{}, x, d.ints(1)) }},
	{"prelu", "float32[N,3,4]", func(d deriving, x *nn.Value) *nn.Value { return d.do(op.Plain("PRelu"), x, d.param(3, 1)) }},
	{"attention", "float32[N,T,8]", func(d deriving, x *nn.Value) *nn.Value {
		return d.do(std.AttentionConfig{QHeads: 2, KVHeads: 2}, x, d.do(op.Plain("MatMul"), x, d.param(8, 8)), x)
	}},
	{"lstm", "float32[5,N,3]", func(d deriving, x *nn.Value) *nn.Value { return d.layer(layers.LSTM{Hidden: 4}, x) }},
	{"gru", "float32[5,N,3]", func(d deriving, x *nn.Value) *nn.Value { return d.layer(layers.GRU{Hidden: 4}, x) }},
	{"lstm both ways", "float32[4,N,3]", func(d deriving, x *nn.Value) *nn.Value {
		n := d.e.NodeN(std.LSTMConfig{Direction: "bidirectional", HiddenSize: 2}, 3, x, d.param(2, 8, 3), d.param(2, 8, 2), d.param(2, 16), nil, nil, nil)
		last := d.do(std.TransposeConfig{Perm: []int{1, 0, 2}}, d.do(op.Plain("Mul"), n.Out(1), n.Out(2)))
		return d.do(op.Plain("Add"), d.do(std.TransposeConfig{Perm: []int{0, 2, 1, 3}}, n.Out(0)), last)
	}},
	{"gru, linear before reset", "float32[4,N,3]", func(d deriving, x *nn.Value) *nn.Value {
		return d.do(std.GRUConfig{LinearBeforeReset: true, Direction: "reverse", HiddenSize: 2}, x, d.param(1, 6, 3), d.param(1, 6, 2), d.param(1, 12))
	}},
	{"rnn", "float32[4,N,3]", func(d deriving, x *nn.Value) *nn.Value {
		return d.do(std.RNNConfig{HiddenSize: 2}, x, d.param(1, 2, 3), d.param(1, 2, 2), d.param(1, 4))
	}},
	{"lstm of any length", "float32[T,N,3]", func(d deriving, x *nn.Value) *nn.Value {
		n := d.e.NodeN(std.LSTMConfig{Direction: "bidirectional", HiddenSize: 2}, 3, x, d.param(2, 8, 3), d.param(2, 8, 2), d.param(2, 16), nil, nil, nil)
		last := d.do(std.TransposeConfig{Perm: []int{1, 0, 2}}, d.do(op.Plain("Mul"), n.Out(1), n.Out(2)))
		return d.do(op.Plain("Add"), d.do(std.TransposeConfig{Perm: []int{0, 2, 1, 3}}, n.Out(0)), last)
	}},
	{"gru of any length", "float32[T,N,3]", func(d deriving, x *nn.Value) *nn.Value {
		return d.do(std.GRUConfig{Direction: "reverse", HiddenSize: 2}, x, d.param(1, 6, 3), d.param(1, 6, 2), d.param(1, 12))
	}},
	{"gru of any length, linear before reset", "float32[T,N,3]", func(d deriving, x *nn.Value) *nn.Value {
		return d.do(std.GRUConfig{LinearBeforeReset: true, Direction: "bidirectional", HiddenSize: 2}, x, d.param(2, 6, 3), d.param(2, 6, 2), d.param(2, 12))
	}},
	{"rnn of any length", "float32[T,N,3]", func(d deriving, x *nn.Value) *nn.Value {
		return d.do(std.RNNConfig{HiddenSize: 2}, x, d.param(1, 2, 3), d.param(1, 2, 2))
	}},
	{"lstm with everything", "float32[T,N,3]", func(d deriving, x *nn.Value) *nn.Value { return d.recurrentWithAll(x, 4) }},
	{"lstm with everything, of known length", "float32[4,N,3]", func(d deriving, x *nn.Value) *nn.Value { return d.recurrentWithAll(x, 4) }},
	{"lstm whose gates are coupled, of batches first", "float32[N,T,3]", func(d deriving, x *nn.Value) *nn.Value {
		h, c := d.do(std.SliceConfig{}, x, d.ints(0), d.ints(1), d.ints(1)), d.do(std.SliceConfig{}, x, d.ints(1), d.ints(2), d.ints(1))
		n := d.e.NodeN(std.LSTMConfig{Direction: "reverse", HiddenSize: 3, InputForget: true, Layout: 1, Clip: 0.5}, 3, x, d.param(1, 12, 3), d.param(1, 12, 3), d.param(1, 24), nil, h, c)
		y := d.do(std.SqueezeConfig{}, n.Out(0), d.ints(2))
		return d.do(op.Plain("Add"), y, d.do(op.Plain("Mul"), n.Out(1), n.Out(2)))
	}},
	{"gru with lengths", "float32[T,N,3]", func(d deriving, x *nn.Value) *nn.Value {
		n := d.e.NodeN(std.GRUConfig{Direction: "bidirectional", HiddenSize: 2, Clip: 0.6, Activations: []string{"HardSigmoid", "Softsign", "ScaledTanh", "Elu"}, ActivationAlpha: []float32{0.3, 1.2, 0.8}, ActivationBeta: []float32{0.4, 0.9}}, 2,
			x, d.param(2, 6, 3), d.param(2, 6, 2), d.param(2, 12), d.lengths(x))
		return d.do(op.Plain("Add"), n.Out(0), n.Out(1))
	}},
	{"gru with lengths, linear before reset", "float32[3,N,3]", func(d deriving, x *nn.Value) *nn.Value {
		n := d.e.NodeN(std.GRUConfig{HiddenSize: 2, LinearBeforeReset: true, Clip: 0.6}, 2, x, d.param(1, 6, 3), d.param(1, 6, 2), nil, d.lengths(x))
		return d.do(op.Plain("Add"), n.Out(0), n.Out(1))
	}},
	{"dropout", "float32[N,50]", func(d deriving, x *nn.Value) *nn.Value { return d.layer(layers.Dropout{P: 0.3}, x) }},
}

// elementwise are activations and functions; those of positive numbers come after a softplus.
var elementwise = []op.Config{
	op.Plain("Abs"), op.Plain("Neg"), op.Plain("Reciprocal"), op.Plain("Sqrt"), op.Plain("Exp"), op.Plain("Log"), op.Plain("Erf"), op.Plain("Relu"),
	op.Plain("Sigmoid"), op.Plain("Tanh"), op.Plain("Softplus"), op.Plain("Softsign"), op.Plain("Mish"), op.Plain("HardSwish"), op.Plain("Sin"),
	op.Plain("Cos"), op.Plain("Tan"), op.Plain("Atan"), op.Plain("Sinh"), op.Plain("Cosh"), op.Plain("Asinh"), op.Plain("Acosh"), op.Plain("Atanh"), op.Plain("Asin"), op.Plain("Acos"),
	std.LeakyReluConfig{}, std.EluConfig{Alpha: addressOf(float32(0.7))}, std.CeluConfig{Alpha: addressOf(float32(2))}, std.SeluConfig{}, std.HardSigmoidConfig{}, std.ShrinkConfig{Bias: 0.1},
	std.ThresholdedReluConfig{Alpha: addressOf(float32(0.2))}, std.SwishConfig{Alpha: addressOf(float32(1.5))}, std.GeluConfig{}, std.GeluConfig{Approximate: "tanh"},
}

type derivedCase struct {
	name, x string
	y       func(d deriving, x *nn.Value) *nn.Value
}

// derivedCases returns those of both tables.
func derivedCases() []derivedCase {
	var cases []derivedCase
	for _, c := range derived {
		cases = append(cases, derivedCase{c.name, c.x, c.y})
	}
	for _, c := range elementwise {
		name := c.Operator().Name
		cases = append(cases, derivedCase{fmt.Sprint(name, " ", op.Encode(std.Operators().Find("", name).Latest(), c)), "float32[N,7]", func(d deriving, x *nn.Value) *nn.Value {
			switch name {
			case "Sqrt", "Log":
				x = d.do(op.Plain("Softplus"), x)
			case "Acosh":
				x = d.do(op.Plain("Add"), d.do(op.Plain("Softplus"), x), d.number(1))
			case "Asin", "Acos", "Atanh":
				x = d.do(op.Plain("Tanh"), d.do(op.Plain("Mul"), x, d.number(0.5)))
			}
			return d.do(c, x)
		}})
	}
	return cases
}

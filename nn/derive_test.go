package nn_test

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"github.com/graft-ml/graft/internal/nntest"
	"github.com/graft-ml/graft/internal/oracle"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/initial"
	"github.com/graft-ml/graft/nn/layers"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/std"
	"github.com/graft-ml/graft/onnxio"
	"gorgonia.org/tensor"
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

func addressOf[T any](x T) *T { return &x }

// deriving builds nodes with parameters.
type deriving struct{ e *nn.Edit }

func (d deriving) do(c op.Config, in ...*nn.Value) *nn.Value { return d.e.Node(c, in...).Out(0) }
func (d deriving) layer(l nn.Layer, x *nn.Value) *nn.Value   { return d.e.Apply(l, x) }
func (d deriving) ints(v ...int) *nn.Value                   { return d.e.Ints(d.e.New("ints"), v...) }
func (d deriving) param(shape ...int) *nn.Value {
	return d.e.Param(d.e.New("p"), initial.Normal{Std: 0.7}, shape...)
}
func (d deriving) above(shape ...int) *nn.Value {
	return d.e.Param(d.e.New("p"), initial.Uniform{Low: 1, High: 2}, shape...)
}
func (d deriving) number(x float32) *nn.Value {
	t, _ := dtype.FromSlice([]float32{x})
	return d.e.Const(d.e.New("number"), t)
}
func (d deriving) floats(x ...float32) *nn.Value {
	t, _ := dtype.FromSlice(x, len(x))
	return d.e.Const(d.e.New("numbers"), t)
}

// labels are classes 0 to 3, from the first of the scores.
func (d deriving) labels(x *nn.Value) *nn.Value {
	first := d.do(std.SqueezeConfig{}, d.do(std.SliceConfig{}, x, d.ints(0), d.ints(1), d.ints(1)), d.ints(1))
	return d.do(std.CastConfig{To: dtype.Int64}, d.do(std.ClipConfig{}, d.do(op.Plain("Add"), first, d.number(1)), d.number(0), d.number(3)))
}

// lengths are numbers of steps of x, [steps, batch, 3], from 0 to 3.
func (d deriving) lengths(x *nn.Value) *nn.Value {
	first := d.do(std.SqueezeConfig{}, d.do(std.SliceConfig{}, x, d.ints(0, 0), d.ints(1, 1), d.ints(0, 2)), d.ints(0, 2))
	whole := d.do(op.Plain("Floor"), d.do(std.ClipConfig{}, d.do(op.Plain("Mul"), d.do(op.Plain("Add"), first, d.number(1)), d.number(2)), d.number(0), d.number(3)))
	return d.do(std.CastConfig{To: dtype.Int32}, whole)
}

// recurrentWithAll returns an LSTM with lengths, first states, peepholes, clipping and other activations.
func (d deriving) recurrentWithAll(x *nn.Value, hidden int) *nn.Value {
	first := d.do(op.Plain("Tanh"), d.do(op.Plain("MatMul"), d.do(std.SliceConfig{}, x, d.ints(0), d.ints(2), d.ints(0)), d.param(3, hidden)))
	cfg := std.LSTMConfig{
		Direction: "bidirectional", HiddenSize: hidden, Clip: 0.7,
		Activations: []string{"HardSigmoid", "LeakyRelu", "Affine", "Sigmoid", "Elu", "ScaledTanh"}, ActivationAlpha: []float32{0.25, 0.2, 0.6, 0.9, 1.1}, ActivationBeta: []float32{0.45, 0.1, 0.7},
	}
	n := d.e.NodeN(cfg, 3, x, d.param(2, 4*hidden, 3), d.param(2, 4*hidden, hidden), d.param(2, 8*hidden), d.lengths(x), first, d.do(op.Plain("Mul"), first, first), d.param(2, 3*hidden))
	return d.do(op.Plain("Add"), n.Out(0), d.do(op.Plain("Mul"), n.Out(1), n.Out(2)))
}

// sizes are batch and channels of x and a size.
func (d deriving) sizes(x *nn.Value, size ...int) *nn.Value {
	front := d.do(std.SliceConfig{}, d.do(std.ShapeConfig{}, x), d.ints(0), d.ints(2))
	return d.do(std.ConcatConfig{}, front, d.ints(size...))
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

// TestDeriveEach: every gradient operator that can be written out is in a case of TestDerive.
func TestDeriveEach(t *testing.T) {
	met := map[string]bool{}
	for _, c := range derivedCases() {
		g, loss, params := derivedGraph(t, c.x, c.y)
		names, err := nn.DerivedOps(g, nn.DeriveOptions{Loss: loss, Params: params})
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			met[name] = true
		}
	}
	for _, o := range std.Operators().List() {
		if strings.HasPrefix(o.Name, "FakeQuantize") || o.Name == "DynamicLSTM" { // in a graph inside of other operators only: TestDynamicQuantization… of train/step
			continue
		}
		if (o.Domain == op.Internal && o.Decompose != nil || o.Expose != nil) && !met[o.Name] {
			t.Errorf("%v is written out, and no case of TestDerive does so", o)
		}
	}
}

// TestDerive: gradients written out are those that the engine computes, in graft and in ONNX Runtime. The graphs are
// compared with testdata/derived.txt; -update writes it anew.
func TestDerive(t *testing.T) {
	cases := derivedCases()
	run := func(t *testing.T, opset int, eval func(g *nn.Graph, in nn.Feed) (nn.Feed, error)) string {
		var b strings.Builder
		for _, c := range cases {
			t.Run(c.name, func(t *testing.T) {
				fmt.Fprintf(&b, "%s of %s\n%s", c.name, c.x, nntest.Indent(nntest.Spelled(checkDerived(t, opset, c.x, c.y, eval))))
			})
		}
		return b.String()
	}
	t.Run("graft", func(t *testing.T) {
		eval := func(g *nn.Graph, in nn.Feed) (nn.Feed, error) { return g.Eval(context.Background(), in) }
		text := run(t, 18, eval)
		for i, c := range cases { // where no size is open, a step is lowered once
			if i%4 == 0 && strings.ContainsAny(c.x, "NT") {
				t.Run(c.name+" of fixed sizes", func(t *testing.T) { checkDerived(t, 18, fixedSizes.Replace(c.x), c.y, eval) })
			}
		}
		nntest.CompareFile(t, filepath.Join("testdata", "derived.txt"), text)
	})
	t.Run("onnxruntime", func(t *testing.T) {
		r := oracle.ORT(t)
		for _, opset := range []int{18, 22} {
			run(t, opset, func(g *nn.Graph, in nn.Feed) (nn.Feed, error) { return derivedInRuntime(r, g, in) })
		}
	})
}

func derivedInRuntime(r *oracle.Runtime, g *nn.Graph, in nn.Feed) (nn.Feed, error) {
	var file bytes.Buffer
	if err := onnxio.Write(&file, g); err != nil {
		return nil, err
	}
	feed := map[string]oracle.Tensor{}
	for name, v := range in {
		d := v.(*tensor.Dense)
		feed[name] = oracle.Tensor{DType: dtype.Of(d.Dtype()).String(), Shape: append([]int{}, d.Shape()...), Data: dtype.Bytes(d)}
	}
	out, err := r.Run(file.Bytes(), feed)
	list := nn.Feed{}
	for name, x := range out {
		t, err := dtype.Parse(x.DType)
		if err != nil {
			return nil, err
		}
		d := dtype.New(t, x.Shape...)
		copy(dtype.Bytes(d), x.Data)
		list[name] = d
	}
	return list, err
}

// derivedGraph returns a model with a loss over y.
func derivedGraph(t *testing.T, in string, y func(d deriving, x *nn.Value) *nn.Value) (*nn.Graph, *nn.Value, []*nn.Param) {
	t.Helper()
	g := nn.NewGraph("derived", std.Operators(), map[string]int{"": 24})
	err := g.Edit(func(e *nn.Edit) {
		e.Seed(3)
		d := deriving{e}
		x := e.Input("x", in)
		var shape []int
		for _, dim := range x.Type().Shape {
			shape = append(shape, max(dim.Size, 1))
		}
		x = d.do(op.Plain("Mul"), x, d.above(shape...))
		v := d.do(op.Plain("Mul"), y(d, x), d.number(0.5))
		e.Output("loss", d.do(std.ReduceSumConfig{KeepDims: addressOf(false)}, d.do(op.Plain("Mul"), v, d.do(op.Plain("Add"), v, d.number(1)))))
	})
	if err != nil {
		t.Fatal(err)
	}
	loss, err := g.Value("loss")
	if err != nil {
		t.Fatal(err)
	}
	var params []*nn.Param
	for p := range g.Params() {
		if p.Trainable() {
			params = append(params, p)
		}
	}
	return g, loss, params
}

func checkDerived(t *testing.T, opset int, in string, y func(d deriving, x *nn.Value) *nn.Value, eval func(g *nn.Graph, in nn.Feed) (nn.Feed, error)) *nn.Graph {
	g, loss, params := derivedGraph(t, in, y)
	names, next := map[*nn.Param]string{}, map[*nn.Param]string{}
	var key string
	written, err := g.Derive(nn.DeriveOptions{Loss: loss, Params: params, Opset: opset}, func(e *nn.Edit, d *nn.Derivation) {
		e.Output("loss", d.Loss)
		for i, p := range params {
			if d.Grads[p] != nil {
				names[p] = fmt.Sprintf("gradient_%d", i)
				e.Output(names[p], d.Grads[p])
			}
		}
		for p := range g.Params() {
			if v := d.Next[p]; v != nil {
				next[p] = p.Name() + ".next"
				e.Output(next[p], v)
			}
		}
		if d.Key != nil {
			key = d.Key.Name()
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	for n := range written.Nodes() {
		if n.Domain() != "" {
			t.Errorf("%s.%s is not a standard operator", n.Domain(), n.Type())
		}
	}
	feed := nn.Feed{}
	random := rand.New(rand.NewPCG(5, 6))
	for _, v := range g.Inputs() {
		var shape []int
		for k, d := range v.Type().Shape {
			if d.Size < 0 {
				d.Size = 5 + 3*k
			}
			shape = append(shape, d.Size)
		}
		x := dtype.New(dtype.Float32, shape...)
		for i := range dtype.Slice[float32](x) {
			dtype.Slice[float32](x)[i] = float32(random.NormFloat64())
		}
		feed[v.Name()] = x
	}
	want, err := g.Step(context.Background(), feed, nn.StepOptions{Loss: loss, Params: params, Train: true, Seed: 11, Count: 12})
	if err != nil {
		t.Fatal(err)
	}
	defer want.Release()
	for _, v := range written.Inputs() {
		if p := paramNamed(g, v.Name()); p != nil {
			feed[v.Name()] = p.Data()
		}
	}
	if key != "" {
		feed[key], _ = dtype.FromSlice([]uint64{11, 12}, 2)
	}
	got, err := eval(written, feed)
	if err != nil {
		t.Fatal(err)
	}
	compared := 0
	compare := func(what string, a any, b *tensor.Dense) {
		d, _ := a.(*tensor.Dense)
		x, err := dtype.Float64s(d)
		z, _ := dtype.Float64s(b)
		if err != nil || len(x) != len(z) {
			t.Errorf("%s has %d elements, want %d", what, len(x), len(z))
			return
		}
		for i := range x {
			if diff := math.Abs(x[i] - z[i]); !(diff <= 2e-4*(1+math.Abs(z[i]))) {
				t.Errorf("%s: element %d is %v, want %v", what, i, x[i], z[i])
				return
			}
		}
		compared++
	}
	if l, err := dtype.Float64s(got["loss"].(*tensor.Dense)); err != nil || !(math.Abs(l[0]-want.Loss) <= 1e-4*(1+math.Abs(want.Loss))) {
		t.Errorf("the loss is %v, want %v", l, want.Loss)
	}
	for p, grad := range want.Grads {
		compare("the gradient of "+p.Name(), got[names[p]], grad)
	}
	for p, x := range want.States {
		compare("the next "+p.Name(), got[next[p]], x)
	}
	if compared == 0 {
		t.Error("nothing was compared")
	}
	return written
}

func paramNamed(g *nn.Graph, name string) *nn.Param {
	for p := range g.Params() {
		if p.Name() == name {
			return p
		}
	}
	return nil
}

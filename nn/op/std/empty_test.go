package std_test

import (
	"math"
	"testing"

	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/optest"
	"github.com/graft-ml/graft/nn/op/std"
)

// TestEmptyTensors: a dimension of 0 is not a reason to panic.
func TestEmptyTensors(t *testing.T) {
	z := func(shape ...int) dtype.Value { return dtype.New(dtype.Float32, shape...) }
	for _, c := range []optest.Case{
		{Name: "Conv batch", Config: std.ConvConfig{}, In: values(z(0, 2, 4, 4), z(3, 2, 2, 2), z(3))},
		{Name: "Conv channels", Config: std.ConvConfig{}, In: values(z(1, 0, 4, 4), z(3, 0, 2, 2), z(3))},
		{Name: "ConvTranspose batch", Config: std.ConvTransposeConfig{}, In: values(z(0, 2, 4, 4), z(2, 3, 2, 2), z(3))},
		{Name: "Gemm rows", Config: std.GemmConfig{}, In: values(z(0, 2), z(2, 3), z(3))},
		{Name: "Gemm inner", Config: std.GemmConfig{}, In: values(z(2, 0), z(0, 3), z(3))},
		{Name: "MatMul inner", Config: op.Plain("MatMul"), In: values(z(2, 3, 0), z(2, 0, 3))},
		{Name: "MatMul batch", Config: op.Plain("MatMul"), In: values(z(0, 3, 2), z(2, 3))},
		{Name: "MatMul broadcast", Config: op.Plain("MatMul"), In: values(z(2, 1, 3, 2), z(0, 2, 3))},
		{Name: "MaxPool", Config: std.MaxPoolConfig{Kernel: []int{2}}, In: values(z(0, 2, 4)), Outputs: 2},
		{Name: "AveragePool", Config: std.AveragePoolConfig{Kernel: []int{2}}, In: values(z(2, 0, 4))},
		{Name: "GlobalAveragePool", Config: op.Plain("GlobalAveragePool"), In: values(z(2, 3, 0))},
		{Name: "GlobalMaxPool", Config: op.Plain("GlobalMaxPool"), In: values(z(0, 3, 2))},
		{Name: "Softmax axis", Config: std.SoftmaxConfig{}, In: values(z(2, 0))},
		{Name: "Softmax outer", Config: std.LogSoftmaxConfig{}, In: values(z(0, 2))},
		{Name: "Softmax inner", Config: std.SoftmaxConfig{Axis: integer(0)}, In: values(z(2, 0))},
		{Name: "Hardmax", Config: std.HardmaxConfig{Axis: integer(0)}, In: values(z(2, 0))},
		{Name: "Softmax scalar", Config: std.SoftmaxConfig{}, In: values(z())},
		{Name: "BatchNormalization", Config: std.BatchNormalizationConfig{}, In: values(z(0, 2), z(2), z(2), z(2), z(2))},
		{Name: "BatchNormalization train", Config: std.BatchNormalizationConfig{}, In: values(z(0, 2), z(2), z(2), z(2), z(2)), Train: true},
		{Name: "InstanceNormalization", Config: std.InstanceNormalizationConfig{}, In: values(z(0, 2, 3), z(2), z(2))},
		{Name: "InstanceNormalization channels", Config: std.InstanceNormalizationConfig{}, In: values(z(2, 0, 3), z(0), z(0))},
		{Name: "GroupNormalization", Config: std.GroupNormalizationConfig{NumGroups: 1}, In: values(z(2, 2, 0), z(2), z(2))},
		{Name: "LayerNormalization", Config: std.LayerNormalizationConfig{}, In: values(z(2, 0), z(0)), Outputs: 3},
		{Name: "RMSNormalization", Config: std.RMSNormalizationConfig{}, In: values(z(0, 2), z(2))},
		{Name: "LpNormalization", Config: std.LpNormalizationConfig{}, In: values(z(2, 0))},
		{Name: "LpNormalization inner", Config: std.LpNormalizationConfig{Axis: integer(0)}, In: values(z(2, 0))},
		{Name: "MeanVarianceNormalization", Config: std.MeanVarianceNormalizationConfig{Axes: []int{1}}, In: values(z(2, 0))},
		{Name: "LRN", Config: std.LRNConfig{Size: 3}, In: values(z(0, 2, 3))},
		{Name: "LSTM steps", Config: std.LSTMConfig{}, In: values(z(0, 2, 3), z(1, 8, 3), z(1, 8, 2)), Outputs: 3},
		{Name: "LSTM steps, both ways", Config: std.LSTMConfig{Direction: "bidirectional"}, In: values(z(0, 2, 3), z(2, 8, 3), z(2, 8, 2)), Outputs: 3},
		{Name: "GRU steps, both ways", Config: std.GRUConfig{Direction: "bidirectional"}, In: values(z(0, 2, 3), z(2, 6, 3), z(2, 6, 2)), Outputs: 2},
		{Name: "MaxRoiPool of no place", Config: std.MaxRoiPoolConfig{Shape: []int{2, 2}}, In: values(z(1, 1, 4, 4), optest.Floats([]int{1, 5}, 0, 1, 1, float32(math.Inf(1)), float32(math.Inf(1))))},
		{Name: "RNN steps, both ways", Config: std.RNNConfig{Direction: "bidirectional"}, In: values(z(0, 2, 3), z(2, 2, 3), z(2, 2, 2)), Outputs: 2},
		{Name: "LSTM batch", Config: std.LSTMConfig{}, In: values(z(2, 0, 3), z(1, 8, 3), z(1, 8, 2)), Outputs: 3},
		{Name: "GRU units", Config: std.GRUConfig{}, In: values(z(2, 2, 3), z(1, 0, 3), z(1, 0, 0)), Outputs: 2},
		{Name: "RNN features", Config: std.RNNConfig{}, In: values(z(2, 2, 0), z(1, 2, 0), z(1, 2, 2)), Outputs: 2},
		{Name: "Flatten", Config: std.FlattenConfig{}, In: values(z(0, 2, 3))},
		{Name: "loss", Config: std.SoftmaxCrossEntropyLossConfig{Reduction: "sum"}, In: values(z(0, 3), dtype.New(dtype.Int64, 0))},
		{Name: "loss space", Config: std.NegativeLogLikelihoodLossConfig{}, In: values(z(2, 3, 0), dtype.New(dtype.Int64, 2, 0))},
		{Name: "Einsum", Config: std.EinsumConfig{Equation: "ij,jk"}, In: values(z(2, 0), z(0, 2))},
	} {
		if _, err := optest.Forward(c); err != nil {
			t.Errorf("%s: %v", c.Name, err)
		}
	}
}

// TestTooMuch: what a file asks for is refused before it is allocated.
func TestTooMuch(t *testing.T) {
	x, n := dtype.New(dtype.Float32, 1, 1, 2, 2), optest.Ints
	for _, c := range []optest.Case{
		{Name: "memory", Config: op.Plain("Expand"), In: values(dtype.New(dtype.Float64, 1), n(1<<34)), Refusal: "would give float64[17179869184]: takes 137438953472 bytes of memory"},
		{Name: "outputs", Config: op.Plain("Relu"), In: values(x), Outputs: 2, Refusal: "gives 1 outputs, the node names 2"},
		{Name: "negative part", Config: std.SplitConfig{}, In: values(dtype.New(dtype.Float32, 6), n(1<<31, -1)), Outputs: 2, Refusal: "size -1 is negative"},
		{Name: "negative parts", Config: std.SplitConfig{Split: []int{7, -1}}, Version: 11, In: values(dtype.New(dtype.Float32, 6)), Outputs: 2, Refusal: "size -1 is negative"},
		{Name: "negative transform", Config: std.DFTConfig{}, In: values(dtype.New(dtype.Float32, 1, 4, 1), dtype.Scalar(int64(-5))), Refusal: "cannot transform -5 points"},
		{Name: "scale", Config: std.ResizeConfig{}, In: values(x, nil, optest.Floats([]int{4}, 1, 1, 1e30, 1)), Refusal: "scale 1e+30 makes axis 2 longer than the 134217728 elements that are possible"},
		{Name: "cut before", Config: std.PadConfig{}, In: values(x, n(0, 0, -5, 0, 0, 0, 1, 0)), Refusal: "removes 5 and 0 elements of an axis of length 2"},
		{Name: "cut behind", Config: std.PadConfig{}, In: values(x, n(0, 0, 0, 0, 0, 0, math.MinInt64, 0)), Refusal: "removes 0 and 9223372036854775807 elements of an axis of length 2"},
	} {
		optest.Fails(t, c)
	}
}

package legacy_test

import (
	"slices"
	"testing"

	"github.com/graft-ml/graft/internal/oracle"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/legacy"
	"github.com/graft-ml/graft/nn/op/optest"
	"github.com/graft-ml/graft/nn/op/std"
	"gorgonia.org/tensor"
)

// knetOnnx are the operators that KnetOnnx.jl's README lists.
var knetOnnx = []string{"Relu", "LeakyRelu", "Conv", "MaxPool", "Dropout", "Flatten", "Gemm", "Add", "BatchNormalization", "ImageScaler",
	"RNN", "Unsqueeze", "Squeeze", "Concat", "ConstantOfShape", "Shape", "Constant"}

// TestKnetOnnx runs a model that has every operator of KnetOnnx.jl's list, saved and loaded, and compares it with ONNX
// Runtime where that is installed.
func TestKnetOnnx(t *testing.T) {
	g := nn.NewGraph("knet", set(t), map[string]int{"": 9})
	err := g.Edit(func(e *nn.Edit) {
		node := func(c op.Config, in ...*nn.Value) *nn.Value { return e.Node(c, in...).Out(0) }
		weights := func(name string, seed uint64, dims ...int) *nn.Value {
			return e.Const(name, optest.Spread(seed, -0.5, 0.5, dims...))
		}
		x := e.Input("x", "float32[2,3,6,6]")
		y := node(legacy.ImageScalerConfig{Bias: []float32{-0.5, 0.1, 0.2}, Scale: pointer(0.7)}, x)
		y = node(std.ConvConfig{Kernel: []int{3, 3}, Pads: []int{1, 1, 1, 1}}, y, weights("conv.w", 1, 4, 3, 3, 3), weights("conv.b", 2, 4))
		y = node(std.BatchNormalizationConfig{}, y, weights("bn.scale", 3, 4), weights("bn.b", 4, 4), weights("bn.mean", 5, 4), e.Const("bn.var", optest.Spread(6, 0.5, 1.5, 4)))
		y = node(std.LeakyReluConfig{Alpha: pointer(0.1)}, y)
		y = node(std.MaxPoolConfig{Kernel: []int{2, 2}, Strides: []int{2, 2}}, y)
		y = node(std.DropoutConfig{}, node(op.Plain("Relu"), y))
		one, err := dtype.FromSlice([]float32{1.5}, 1)
		if err != nil {
			t.Fatal(err)
		}
		y = node(op.Plain("Add"), y, node(std.ConstantOfShapeConfig{Value: one}, node(op.Plain("Shape"), y)))
		y = node(std.FlattenConfig{}, y)
		y = node(std.GemmConfig{TransB: true}, y, weights("fc.w", 7, 5, 36), weights("fc.b", 8, 5))
		steps := node(std.UnsqueezeConfig{Axes: []int{0}}, node(std.ConcatConfig{Axis: 1}, y, node(std.ConstantConfig{Value: optest.Spread(9, -1, 1, 2, 2)})))
		r := e.NodeN(std.RNNConfig{HiddenSize: 3}, 2, steps, weights("rnn.w", 10, 1, 3, 7), weights("rnn.r", 11, 1, 3, 3))
		e.Output("y", node(std.SqueezeConfig{Axes: []int{0}}, r.Out(1)))
	})
	if err != nil {
		t.Fatal(err)
	}
	var has []string
	for n := range g.Nodes() {
		has = append(has, n.Type())
	}
	for _, name := range knetOnnx {
		if !slices.Contains(has, name) {
			t.Errorf("the model has no %s: %v", name, has)
		}
	}
	in := map[string]*tensor.Dense{"x": optest.Rand(12, 2, 3, 6, 6)}
	runBoth(t, nil, g, in)
	got, want := runBoth(t, oracle.ORT(t), g, in)
	if err := oracle.Close(packed(got["y"]), want["y"], 1e-4, 1e-5); err != nil {
		t.Error(err)
	}
}

package step_test

import (
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/graft-ml/graft/internal/oracle"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/initial"
	"github.com/graft-ml/graft/nn/layers"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/std"
	"github.com/graft-ml/graft/optim"
	"github.com/graft-ml/graft/train"
	"github.com/graft-ml/graft/train/data"
	"github.com/graft-ml/graft/train/step"
	"gorgonia.org/tensor"
)

var networksPerRule = flag.Int("networks", 1, "with how many networks TestEveryRule combines each rule; 6 are all")

// resized doubles an image by interpolation.
var resized = nn.LayerFunc(func(e *nn.Edit, in ...*nn.Value) []*nn.Value {
	scales, err := dtype.FromSlice([]float32{1, 1, 2, 2}, 4)
	e.Fail(err)
	return e.Node(std.ResizeConfig{Mode: "linear"}, in[0], nil, e.Const("scales", scales)).Outputs()
})

// looped applies the same weight three times, in a Loop.
var looped = nn.LayerFunc(func(e *nn.Edit, in ...*nn.Value) []*nn.Value {
	w := e.Param("looped", initial.FanIn{}, 5, 5)
	body := e.Body("again", []string{"int64[]", "bool[]", "float32[N,5]"}, []*nn.Value{w}, func(e *nn.Edit, in ...*nn.Value) []*nn.Value {
		return []*nn.Value{in[1], e.Apply(layers.Tanh{}, e.Node(op.Plain("MatMul"), in[2], in[3]).Out(0))}
	})
	return e.NodeN(std.LoopConfig{Body: body}, 1, e.Const("trips", dtype.Scalar(int64(3))), nil, in[0]).Outputs()
})

// TestEveryRule trains each rule on one of several networks for 20 steps in ONNX Runtime, with batches of sizes that no export saw, and compares with
// the trainer: accumulated, clipped, scheduled and partly frozen in turn.
func TestEveryRule(t *testing.T) {
	run := runtime(oracle.ORT(t))
	last := nn.Sequential{layers.Flatten{}, layers.Linear{Out: 3, Name: "head"}}
	mean := layers.Mean{Axes: []int{1}}
	// Without biases whose gradient is zero, rounding errors that some rules scale up: before a normalization of channels, and of keys.
	networks := []struct {
		name, in string
		shape    []int
		layers   []nn.Layer
		frozen   string
	}{
		{"convolutions", "float32[N,2,6,6]", []int{2, 6, 6}, []nn.Layer{layers.Conv{Out: 3, Kernel: []int{3}, Pad: []int{1}, NoBias: true}, layers.BatchNorm{}, layers.ReLU{}, layers.MaxPool{Kernel: []int{2}}, resized,
			layers.Dropout{P: 0.2}, layers.AvgPool{Kernel: []int{3}}}, "conv1"},
		{"attention", "float32[N,4,6]", []int{4, 6}, []nn.Layer{layers.Residual{Body: layers.Attention{Heads: 2, Dropout: 0.1, NoBias: true}}, layers.LayerNorm{}, layers.GELU{}, mean}, "layernorm1"},
		{"lstm", "float32[N,4,5]", []int{4, 5}, []nn.Layer{layers.LSTM{Hidden: 4, BatchFirst: true, Bidirectional: true}, mean}, ""},
		{"gru", "float32[N,4,5]", []int{4, 5}, []nn.Layer{layers.GRU{Hidden: 4, BatchFirst: true, NoBias: true}, layers.Dropout{P: 0.2}, mean}, "head"},
		{"loop", "float32[N,4]", []int{4}, []nn.Layer{layers.Linear{Out: 5, Name: "first"}, looped}, "first"},
		{"transposed", "float32[N,2,5,5]", []int{2, 5, 5}, []nn.Layer{layers.ConvTranspose{Out: 3, Kernel: []int{3}, Stride: []int{2}, NoBias: true}, layers.GroupNorm{Groups: 3}, layers.SiLU{}, layers.GlobalAvgPool{}}, ""},
	}
	for i, name := range slices.Sorted(maps.Keys(rules)) {
		for k := range *networksPerRule {
			net := networks[(i+k)%len(networks)]
			t.Run(fmt.Sprintf("%s, %s", name, net.name), func(t *testing.T) {
				g := model(t, net.in, append(slices.Clone(net.layers), last...)...)
				c := train.Config{Rule: rules[name], Seed: 11}
				if i%2 == 0 {
					c.Accumulate = 2
				}
				if i%3 != 0 {
					c.ClipNorm = 0.5
				}
				if i%4 < 2 {
					c.Schedule = optim.ExponentialLR{Gamma: 0.8}
				}
				if i%3 < 2 && net.frozen != "" {
					edit(t, g, func(e *nn.Edit) { e.Freeze(nn.Glob(net.frozen)) })
				}
				within := 1e-4
				if name == "adafactorlarge" { // its steps are half as long as the weights, and rounding errors grow with them
					within = 1e-3
				}
				follow(t, g, step.Exporter{Config: c}, batches(20, func(r *rand.Rand) data.Sample {
					n := 2 + r.IntN(6)
					return data.Sample{X: []*tensor.Dense{normal(r, append([]int{n}, net.shape...)...)}, Y: []*tensor.Dense{classes(r, n, 3)}}
				}), run, within)
			})
		}
	}
}

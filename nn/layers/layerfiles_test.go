package layers_test

import (
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/graft-ml/graft/internal/nntest"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/initial"
	"github.com/graft-ml/graft/nn/layers"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/std"
)

// layerForms are layers beside those of layerCases: settings at their limits and one beyond.
var layerForms = []struct {
	in    string
	layer nn.Layer
}{
	{"float32[4]", layers.Linear{Out: 3}},
	{"float32[]", layers.Linear{Out: 3}},
	{"float32[N,T,4]", layers.Linear{NoBias: true, Init: initial.Ones{}}},
	{"float32[N,4]", layers.Linear{Init: initial.Eye{}, BiasInit: initial.Ones{}, Name: "fc"}},
	{"int64[N]", layers.Embedding{Num: 0, Dim: 3}},
	{"int64[N]", layers.Embedding{Num: 1, Dim: 1, Init: initial.Zeros{}}},
	{"int64[N]", layers.Embedding{Num: 3, Dim: -1}},
	{"float32[N,4,8]", layers.Conv{Kernel: []int{8}, Group: 4}},
	{"float32[N,4,8]", layers.Conv{Kernel: []int{0}}},
	{"float32[N,4,8]", layers.Conv{Kernel: []int{3}, Pad: []int{1, 2}}},
	{"float32[N,4,8]", layers.Conv{Kernel: []int{3}, Pad: []int{-1}}},
	{"float32[N,4,8]", layers.Conv{Kernel: []int{3}, Dilation: []int{0}}},
	{"float32[N,4,8,9]", layers.Conv{Kernel: []int{3, 2}, Stride: []int{1, 2}, Dilation: []int{2, 1}, Pad: []int{1, 0}, Init: initial.Ones{}}},
	{"float32[N,4,8,9]", layers.Conv{Kernel: []int{4, 3}, Dilation: []int{2, 3}, Same: true, Out: 2}},
	{"float32[N,4,8,9]", layers.Conv{Kernel: []int{4, 3}, Out: 6, Group: 4}},
	{"float32[N,4]", layers.Conv{Kernel: []int{4}}},
	{"float32[N,4,8]", layers.Conv{Kernel: []int{3}}.Identity()},
	{"float32[N,4,8,9]", layers.Conv{Kernel: []int{4, 3}, Dilation: []int{1, 2}}.Identity()},
	{"float32[N,4,8]", layers.ConvTranspose{Kernel: []int{3}}},
	{"float32[N,4,8]", layers.ConvTranspose{Out: 6, Kernel: []int{3}, Stride: []int{3}, OutPad: []int{2}, Group: 2, NoBias: true}},
	{"float32[N,4,8]", layers.ConvTranspose{Kernel: []int{3}, OutPad: []int{-1}}},
	{"float32[N,4,8]", layers.ConvTranspose{Kernel: []int{3}, Group: 3}},
	{"float32[N,4,8]", layers.ConvTranspose{Kernel: []int{3, 3}}},
	{"float32[N,4]", layers.BatchNorm{Eps: 0.1, Momentum: 0.5}},
	{"float32[4]", layers.BatchNorm{}},
	{"float32[N,4]", layers.BatchNorm{}.Identity()},
	{"float32[N,C]", layers.BatchNorm{}},
	{"float32[N,4,5]", layers.LayerNorm{Axes: 3}},
	{"float32[2,4,5]", layers.LayerNorm{Axes: 3}},
	{"float32[2,4,5]", layers.LayerNorm{Axes: 4}},
	{"float32[N,4]", layers.InstanceNorm{}},
	{"float32[N,4,5]", layers.InstanceNorm{Eps: 0.5}},
	{"float32[N,4,5]", layers.GroupNorm{Groups: 4}},
	{"float32[N,4,5]", layers.GroupNorm{Groups: 3}},
	{"float32[N,4,5]", layers.GroupNorm{}},
	{"float32[N,4,5]", layers.GroupNorm{Groups: 1, Eps: 0.5}},
	{"float32[N,4]", layers.ReLU6{}},
	{"float32[N,4]", layers.PReLU{Slope: 0.5}},
	{"float32[4]", layers.PReLU{}},
	{"float32[N,4,2,3]", layers.PReLU{}},
	{"float32[N,4]", layers.LeakyReLU{Slope: 0.5}},
	{"float32[N,4]", layers.ELU{Alpha: 0.5}},
	{"float32[N,4]", layers.Softmax{Axis: new(-2)}},
	{"float32[N,4]", layers.Softmax{Axis: new(-3)}},
	{"float32[N,4]", layers.Softmax{Axis: new(2)}},
	{"float32[N,4]", layers.LogSoftmax{Axis: new(-2)}},
	{"float32[]", layers.LogSoftmax{}},
	{"float32[N,4,8]", layers.MaxPool{Kernel: []int{3}, Ceil: true, Dilation: []int{2}}},
	{"float32[N,4,8]", layers.AvgPool{Kernel: []int{3}, Ceil: true}},
	{"float32[N,4,8]", layers.AvgPool{Kernel: []int{3}, Same: true, Stride: []int{1}}},
	{"float32[N,4]", layers.GlobalAvgPool{}},
	{"float32[N,4,5]", layers.Flatten{Axis: new(2)}},
	{"float32[N,4,5]", layers.Flatten{Axis: new(4)}},
	{"float32[N,4,5]", layers.Transpose{}},
	{"float32[N,4]", layers.Dropout{}},
	{"float32[N,4]", layers.Dropout{P: -0.1}},
	{"float32[T,N,4]", layers.LSTM{Hidden: 1, Layers: 3, Dropout: 0.25}},
	{"float32[T,N,4]", layers.LSTM{Hidden: -1}},
	{"float32[N,4]", layers.LSTM{Hidden: 2}},
	{"float32[T,N,4,2]", layers.LSTM{Hidden: 2}},
	{"float32[N,T,4]", layers.GRU{Hidden: 2, Bidirectional: true, BatchFirst: true, Layers: 2}},
	{"float32[T,N,4]", layers.RNN{Hidden: 2, Layers: 2, Init: initial.Ones{}}},
	{"float32[N,T,4]", layers.Attention{Heads: 4}},
	{"float32[N,T,4]", layers.Attention{Heads: 1, NoBias: true, Name: "a"}},
	{"float32[N,T,4]", layers.Attention{}},
	{"float32[N,4]", layers.Attention{Heads: 2}},
	{"float32[N,T,4]", several(1, layers.Attention{Heads: 2})},
	{"float32[N,T,4]", several(2, layers.Attention{Heads: 2})},
	{"float32[N,4,T,T]", several(2, layers.ReLU{})},
	{"float32[N,T,4]", several(3, layers.Attention{Heads: 2})},
	{"float32[N,T,4]", several(-1, layers.Attention{Heads: 2})},
	{"float32[N,4]", several(1, layers.Concat{})},
	{"float32[N,4]", several(1, layers.Concat{Axis: new(-2)})},
	{"float32[N,4]", several(0, layers.Concat{Axis: new(2)})},
	{"float32[N,4]", several(-1, layers.Concat{})},
	{"float32[N,4]", layers.Parallel{Branches: []nn.Layer{layers.ReLU{}, layers.ELU{}}, Axis: new(-1), Name: "join"}},
	{"float32[N,4]", layers.Parallel{}},
	{"float32[N,4]", layers.Parallel{Branches: []nn.Layer{nil}}},
	{"float32[N,4]", layers.Residual{Body: layers.Linear{}, Name: "sum"}.Identity()},
	{"float32[N,4]", layers.Residual{Body: nn.Sequential{layers.ReLU{}, layers.Linear{}}, Shortcut: nn.Sequential{layers.BatchNorm{}, layers.Named{"in", layers.Linear{}}}}.Identity()},
	{"float32[N,4,8]", layers.Residual{Body: layers.Named{"b", nn.Sequential{layers.Conv{Kernel: []int{3}, Same: true}}}}.Identity()},
	{"float32[N,4]", layers.Residual{Body: nn.Sequential{}}.Identity()},
	{"float32[N,4]", nn.Sequential{layers.Named{"a", layers.Linear{}}, layers.Named{"a", layers.Linear{Name: "x"}}, layers.Named{"", layers.Linear{Name: "x"}}, layers.Linear{Name: "x"}, layers.Linear{Name: "x"}, layers.ReLU{Name: "x"}}},
	{"float32[N,4]", layers.Named{"outer", layers.Named{"inner", nn.Sequential{layers.Linear{Name: "x"}, layers.Attention{}}}}},
	{"float32[N,4]", nn.OpLayer{Config: std.SplitConfig{Axis: 1, NumOutputs: 2}, Outputs: 2, Name: "halves"}},
	{"float32[N,4]", nn.OpLayer{Config: std.ConcatConfig{Axis: 3}}},
	{"float32[N,4]", nn.OpLayer{Config: op.Plain("Missing")}},
	{"float32[N,4]", layers.Dropout{P: math.NaN()}},
}

// several applies a layer to its input and more of the same.
func several(more int, l nn.Layer) nn.Layer {
	return nn.LayerFunc(func(e *nn.Edit, in ...*nn.Value) []*nn.Value {
		list := in[:max(0, min(1, 1+more))]
		for range more {
			list = append(list, e.Apply(layers.ReLU{}, in[0]))
		}
		return e.ApplyAll(l, list...)
	})
}

// TestLayersWritten compares the nodes and parameters that layers add, in three operator sets, and refusals, with
// testdata/layers.txt; -update writes it anew.
func TestLayersWritten(t *testing.T) {
	var b strings.Builder
	add := func(name, in string, l nn.Layer) {
		last := ""
		for _, opset := range []int{nn.LatestOpset, 12, 7} {
			g := nn.NewGraph("m", std.Operators(), map[string]int{"": opset})
			text := ""
			if err := g.Edit(func(e *nn.Edit) {
				x := e.Input("x", in)
				for _, y := range e.ApplyAll(l, x) {
					if y != nil && y != x {
						e.Output(y.Name(), y)
					}
				}
			}); err != nil {
				text = fmt.Sprintf("\trefused: %v\n", err)
			} else {
				text = nntest.Indent(nntest.Spelled(g))
			}
			if text != last {
				fmt.Fprintf(&b, "%s on %s in operator set %d\n%s", name, in, opset, text)
			}
			last = text
		}
	}
	for _, c := range nntest.LayerCases {
		add(c.Name, c.In, c.Layer)
	}
	for i, c := range layerForms {
		add(fmt.Sprintf("form %d, %T", i, c.layer), c.in, c.layer)
	}
	nntest.CompareFile(t, filepath.Join("testdata", "layers.txt"), b.String())
}

package nn_test

import (
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/std"
)

// layerForms are layers beside those of layerCases: settings at their limits and one beyond.
var layerForms = []struct {
	in    string
	layer nn.Layer
}{
	{"float32[4]", nn.Linear{Out: 3}},
	{"float32[]", nn.Linear{Out: 3}},
	{"float32[N,T,4]", nn.Linear{NoBias: true, Init: nn.Ones{}}},
	{"float32[N,4]", nn.Linear{Init: nn.Eye{}, BiasInit: nn.Ones{}, Name: "fc"}},
	{"int64[N]", nn.Embedding{Num: 0, Dim: 3}},
	{"int64[N]", nn.Embedding{Num: 1, Dim: 1, Init: nn.Zeros{}}},
	{"int64[N]", nn.Embedding{Num: 3, Dim: -1}},
	{"float32[N,4,8]", nn.Conv{Kernel: []int{8}, Group: 4}},
	{"float32[N,4,8]", nn.Conv{Kernel: []int{0}}},
	{"float32[N,4,8]", nn.Conv{Kernel: []int{3}, Pad: []int{1, 2}}},
	{"float32[N,4,8]", nn.Conv{Kernel: []int{3}, Pad: []int{-1}}},
	{"float32[N,4,8]", nn.Conv{Kernel: []int{3}, Dilation: []int{0}}},
	{"float32[N,4,8,9]", nn.Conv{Kernel: []int{3, 2}, Stride: []int{1, 2}, Dilation: []int{2, 1}, Pad: []int{1, 0}, Init: nn.Ones{}}},
	{"float32[N,4,8,9]", nn.Conv{Kernel: []int{4, 3}, Dilation: []int{2, 3}, Same: true, Out: 2}},
	{"float32[N,4,8,9]", nn.Conv{Kernel: []int{4, 3}, Out: 6, Group: 4}},
	{"float32[N,4]", nn.Conv{Kernel: []int{4}}},
	{"float32[N,4,8]", nn.Conv{Kernel: []int{3}}.Identity()},
	{"float32[N,4,8,9]", nn.Conv{Kernel: []int{4, 3}, Dilation: []int{1, 2}}.Identity()},
	{"float32[N,4,8]", nn.ConvTranspose{Kernel: []int{3}}},
	{"float32[N,4,8]", nn.ConvTranspose{Out: 6, Kernel: []int{3}, Stride: []int{3}, OutPad: []int{2}, Group: 2, NoBias: true}},
	{"float32[N,4,8]", nn.ConvTranspose{Kernel: []int{3}, OutPad: []int{-1}}},
	{"float32[N,4,8]", nn.ConvTranspose{Kernel: []int{3}, Group: 3}},
	{"float32[N,4,8]", nn.ConvTranspose{Kernel: []int{3, 3}}},
	{"float32[N,4]", nn.BatchNorm{Eps: 0.1, Momentum: 0.5}},
	{"float32[4]", nn.BatchNorm{}},
	{"float32[N,4]", nn.BatchNorm{}.Identity()},
	{"float32[N,C]", nn.BatchNorm{}},
	{"float32[N,4,5]", nn.LayerNorm{Axes: 3}},
	{"float32[2,4,5]", nn.LayerNorm{Axes: 3}},
	{"float32[2,4,5]", nn.LayerNorm{Axes: 4}},
	{"float32[N,4]", nn.InstanceNorm{}},
	{"float32[N,4,5]", nn.InstanceNorm{Eps: 0.5}},
	{"float32[N,4,5]", nn.GroupNorm{Groups: 4}},
	{"float32[N,4,5]", nn.GroupNorm{Groups: 3}},
	{"float32[N,4,5]", nn.GroupNorm{}},
	{"float32[N,4,5]", nn.GroupNorm{Groups: 1, Eps: 0.5}},
	{"float32[N,4]", nn.PReLU{Slope: 0.5}},
	{"float32[4]", nn.PReLU{}},
	{"float32[N,4,2,3]", nn.PReLU{}},
	{"float32[N,4]", nn.LeakyReLU{Slope: 0.5}},
	{"float32[N,4]", nn.ELU{Alpha: 0.5}},
	{"float32[N,4]", nn.Softmax{Axis: -2}},
	{"float32[N,4]", nn.Softmax{Axis: -3}},
	{"float32[N,4]", nn.Softmax{Axis: 2}},
	{"float32[N,4]", nn.LogSoftmax{Axis: -2}},
	{"float32[]", nn.LogSoftmax{}},
	{"float32[N,4,8]", nn.MaxPool{Kernel: []int{3}, Ceil: true, Dilation: []int{2}}},
	{"float32[N,4,8]", nn.AvgPool{Kernel: []int{3}, Ceil: true}},
	{"float32[N,4,8]", nn.AvgPool{Kernel: []int{3}, Same: true, Stride: []int{1}}},
	{"float32[N,4]", nn.GlobalAvgPool{}},
	{"float32[N,4,5]", nn.Flatten{Axis: 2}},
	{"float32[N,4,5]", nn.Flatten{Axis: 4}},
	{"float32[N,4,5]", nn.Transpose{}},
	{"float32[N,4]", nn.Dropout{}},
	{"float32[N,4]", nn.Dropout{P: -0.1}},
	{"float32[T,N,4]", nn.LSTM{Hidden: 1, Layers: 3, Dropout: 0.25}},
	{"float32[T,N,4]", nn.LSTM{Hidden: -1}},
	{"float32[N,4]", nn.LSTM{Hidden: 2}},
	{"float32[T,N,4,2]", nn.LSTM{Hidden: 2}},
	{"float32[N,T,4]", nn.GRU{Hidden: 2, Bidirectional: true, BatchFirst: true, Layers: 2}},
	{"float32[T,N,4]", nn.RNN{Hidden: 2, Layers: 2, Init: nn.Ones{}}},
	{"float32[N,T,4]", nn.Attention{Heads: 4}},
	{"float32[N,T,4]", nn.Attention{Heads: 1, NoBias: true, Name: "a"}},
	{"float32[N,T,4]", nn.Attention{}},
	{"float32[N,4]", nn.Attention{Heads: 2}},
	{"float32[N,T,4]", several(1, nn.Attention{Heads: 2})},
	{"float32[N,T,4]", several(2, nn.Attention{Heads: 2})},
	{"float32[N,4,T,T]", several(2, nn.ReLU{})},
	{"float32[N,T,4]", several(3, nn.Attention{Heads: 2})},
	{"float32[N,T,4]", several(-1, nn.Attention{Heads: 2})},
	{"float32[N,4]", several(1, nn.Concat{})},
	{"float32[N,4]", several(1, nn.Concat{Axis: -2})},
	{"float32[N,4]", several(0, nn.Concat{Axis: 2})},
	{"float32[N,4]", several(-1, nn.Concat{})},
	{"float32[N,4]", nn.Parallel{Branches: []nn.Layer{nn.ReLU{}, nn.ELU{}}, Axis: -1, Name: "join"}},
	{"float32[N,4]", nn.Parallel{}},
	{"float32[N,4]", nn.Parallel{Branches: []nn.Layer{nil}}},
	{"float32[N,4]", nn.Residual{Body: nn.Linear{}, Name: "sum"}.Identity()},
	{"float32[N,4]", nn.Residual{Body: nn.Sequential{nn.ReLU{}, nn.Linear{}}, Shortcut: nn.Sequential{nn.BatchNorm{}, nn.Named{"in", nn.Linear{}}}}.Identity()},
	{"float32[N,4,8]", nn.Residual{Body: nn.Named{"b", nn.Sequential{nn.Conv{Kernel: []int{3}, Same: true}}}}.Identity()},
	{"float32[N,4]", nn.Residual{Body: nn.Sequential{}}.Identity()},
	{"float32[N,4]", nn.Sequential{nn.Named{"a", nn.Linear{}}, nn.Named{"a", nn.Linear{Name: "x"}}, nn.Named{"", nn.Linear{Name: "x"}}, nn.Linear{Name: "x"}, nn.Linear{Name: "x"}, nn.ReLU{Name: "x"}}},
	{"float32[N,4]", nn.Named{"outer", nn.Named{"inner", nn.Sequential{nn.Linear{Name: "x"}, nn.Attention{}}}}},
	{"float32[N,4]", nn.Op{Config: std.SplitConfig{Axis: 1, NumOutputs: 2}, Outputs: 2, Name: "halves"}},
	{"float32[N,4]", nn.Op{Config: std.ConcatConfig{Axis: 3}}},
	{"float32[N,4]", nn.Op{Config: op.Plain("Missing")}},
	{"float32[N,4]", nn.Dropout{P: math.NaN()}},
}

// several applies a layer to its input and more of the same.
func several(more int, l nn.Layer) nn.Layer {
	return nn.Func(func(e *nn.Edit, in ...*nn.Value) []*nn.Value {
		list := in[:max(0, min(1, 1+more))]
		for range more {
			list = append(list, e.Apply(nn.ReLU{}, in[0]))
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
				text = indent(spelled(g))
			}
			if text != last {
				fmt.Fprintf(&b, "%s on %s in operator set %d\n%s", name, in, opset, text)
			}
			last = text
		}
	}
	for _, c := range layerCases {
		add(c.name, c.in, c.layer)
	}
	for i, c := range layerForms {
		add(fmt.Sprintf("form %d, %T", i, c.layer), c.in, c.layer)
	}
	compareFile(t, filepath.Join("testdata", "layers.txt"), b.String())
}

package nntest

import (
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/layers"
	"github.com/graft-ml/graft/nn/op"
)

// LayerCases are layers, with the type that they make of a type and the parameters that they add.
var LayerCases = []struct {
	Name   string
	In     string
	Layer  nn.Layer
	Want   string
	Params string
	Old    int // the oldest operator set it works in; 0: 7
}{
	{"linear", "float32[N,4]", layers.Linear{Out: 3}, "float32[N,3]", "linear1.bias linear1.weight", 0},
	{"linear without bias", "float32[N,4]", layers.Linear{Out: 3, NoBias: true, Name: "fc"}, "float32[N,3]", "fc.weight", 0},
	{"linear of rank 3", "float32[N,T,4]", layers.Linear{Out: 3}, "float32[N,T,3]", "linear1.bias linear1.weight", 0},
	{"linear of the same size", "float64[N,4]", layers.Linear{}, "float64[N,4]", "linear1.bias linear1.weight", 0},
	{"conv", "float32[N,4,8,8]", layers.Conv{Out: 6, Kernel: []int{3}}, "float32[N,6,6,6]", "conv1.bias conv1.weight", 0},
	{"conv settings", "float32[N,4,9,8]", layers.Conv{Out: 6, Kernel: []int{3, 2}, Stride: []int{2}, Pad: []int{1, 0, 1, 1}, Dilation: []int{1, 2}, Group: 2, NoBias: true}, "float32[N,6,5,4]", "conv1.weight", 0},
	{"conv same", "float32[N,4,9,8]", layers.Conv{Out: 6, Kernel: []int{3, 2}, Stride: []int{2}, Same: true}, "float32[N,6,5,4]", "conv1.bias conv1.weight", 0},
	{"conv of one axis", "float32[N,4,9]", layers.Conv{Out: 6, Kernel: []int{3}}, "float32[N,6,7]", "conv1.bias conv1.weight", 0},
	{"transposed conv", "float32[N,4,5,5]", layers.ConvTranspose{Out: 2, Kernel: []int{3}, Stride: []int{2}, Pad: []int{1}, OutPad: []int{1}}, "float32[N,2,10,10]", "convtranspose1.bias convtranspose1.weight", 0},
	{"batch norm", "float32[N,4,5,5]", layers.BatchNorm{}, "float32[N,4,5,5]", "batchnorm1.bias batchnorm1.running_mean batchnorm1.running_var batchnorm1.weight", 0},
	{"layer norm", "float32[N,4,5]", layers.LayerNorm{}, "float32[N,4,5]", "layernorm1.bias layernorm1.weight", 0},
	{"layer norm of two axes", "float32[N,4,5]", layers.LayerNorm{Axes: 2, Eps: 1e-3}, "float32[N,4,5]", "layernorm1.bias layernorm1.weight", 0},
	{"rms norm", "float32[N,4,5]", layers.RMSNorm{}, "float32[N,4,5]", "rmsnorm1.weight", 0},
	{"rms norm of two axes", "float32[N,4,5]", layers.RMSNorm{Axes: 2, Eps: 1e-3}, "float32[N,4,5]", "rmsnorm1.weight", 0},
	{"instance norm", "float32[N,4,5,5]", layers.InstanceNorm{}, "float32[N,4,5,5]", "instancenorm1.bias instancenorm1.weight", 0},
	{"group norm", "float32[N,4,5,5]", layers.GroupNorm{Groups: 2}, "float32[N,4,5,5]", "groupnorm1.bias groupnorm1.weight", 0},
	{"relu", "float32[N,4]", layers.ReLU{}, "float32[N,4]", "", 0},
	{"leaky relu", "float32[N,4]", layers.LeakyReLU{}, "float32[N,4]", "", 0},
	{"prelu", "float32[N,4,2]", layers.PReLU{}, "float32[N,4,2]", "prelu1.weight", 9},
	{"elu", "float32[N,4]", layers.ELU{}, "float32[N,4]", "", 0},
	{"sigmoid", "float32[N,4]", layers.Sigmoid{}, "float32[N,4]", "", 0},
	{"tanh", "float32[N,4]", layers.Tanh{}, "float32[N,4]", "", 0},
	{"gelu", "float32[N,4]", layers.GELU{}, "float32[N,4]", "", 9},
	{"gelu by tanh", "float32[N,4]", layers.GELU{Tanh: true}, "float32[N,4]", "", 0},
	{"silu", "float32[N,4]", layers.SiLU{}, "float32[N,4]", "", 0},
	{"hard swish", "float32[N,4]", layers.HardSwish{}, "float32[N,4]", "", 0},
	{"softmax", "float32[N,4,3]", layers.Softmax{}, "float32[N,4,3]", "", 0},
	{"softmax over channels", "float32[N,4,3]", layers.Softmax{Axis: new(1)}, "float32[N,4,3]", "", 0},
	{"log softmax", "float32[N,4]", layers.LogSoftmax{}, "float32[N,4]", "", 0},
	{"max pool", "float32[N,4,9,8]", layers.MaxPool{Kernel: []int{2}}, "float32[N,4,4,4]", "", 0},
	{"max pool same", "float32[N,4,9,8]", layers.MaxPool{Kernel: []int{3}, Stride: []int{2}, Same: true}, "float32[N,4,5,4]", "", 0},
	{"average pool", "float32[N,4,9,8]", layers.AvgPool{Kernel: []int{2}, Stride: []int{1}, Pad: []int{1}, CountPadding: true}, "float32[N,4,10,9]", "", 0},
	{"global average pool", "float32[N,4,9,8]", layers.GlobalAvgPool{}, "float32[N,4,1,1]", "", 0},
	{"global max pool", "float32[N,4,9,8]", layers.GlobalMaxPool{}, "float32[N,4,1,1]", "", 0},
	{"mean", "float32[N,4,9,8]", layers.Mean{Axes: []int{2, -1}}, "float32[N,4]", "", 0},
	{"mean, axes kept", "float32[N,4,9]", layers.Mean{Axes: []int{1}, Keep: true}, "float32[N,1,9]", "", 0},
	{"flatten", "float32[N,4,9,8]", layers.Flatten{}, "float32[N,288]", "", 0},
	{"reshape", "float32[N,4,6]", layers.Reshape{Dims: []int{0, -1}}, "float32[N,24]", "", 0},
	{"transpose", "float32[N,4,6]", layers.Transpose{Perm: []int{0, 2, 1}}, "float32[N,6,4]", "", 0},
	{"slice", "float32[N,4,6]", layers.Slice{Axis: 2, From: 1, To: -2}, "float32[N,4,3]", "", 0},
	{"slice to the end", "float32[N,4,6]", layers.Slice{Axis: 1, From: -3}, "float32[N,3,6]", "", 0},
	{"roll", "float32[N,4,6]", layers.Roll{Axis: -1, By: 2}, "float32[N,4,6]", "", 0},
	{"roll to the front", "float32[N,4,6]", layers.Roll{Axis: 1, By: -1}, "float32[N,4,6]", "", 0},
	{"dropout", "float32[N,4]", layers.Dropout{P: 0.3}, "float32[N,4]", "", 0},
	{"embedding", "int64[N,5]", layers.Embedding{Num: 4, Dim: 3}, "float32[N,5,3]", "embedding1.weight", 0},
	{"lstm", "float32[T,N,4]", layers.LSTM{Hidden: 3}, "float32[T,N,3]", "lstm1.bias lstm1.weight_hh lstm1.weight_ih", 0},
	{"lstm, two ways, two layers", "float32[N,T,4]", layers.LSTM{Hidden: 3, Bidirectional: true, BatchFirst: true, Layers: 2, Dropout: 0.1}, "float32[N,T,6]",
		"lstm1.0.bias lstm1.0.weight_hh lstm1.0.weight_ih lstm1.1.bias lstm1.1.weight_hh lstm1.1.weight_ih", 0},
	{"gru", "float32[T,N,4]", layers.GRU{Hidden: 3}, "float32[T,N,3]", "gru1.bias gru1.weight_hh gru1.weight_ih", 0},
	{"rnn", "float32[T,N,4]", layers.RNN{Hidden: 3}, "float32[T,N,3]", "rnn1.bias rnn1.weight_hh rnn1.weight_ih", 0},
	{"attention", "float32[N,T,4]", layers.Attention{Heads: 2, NoBias: true}, "float32[N,T,4]",
		"attention1.key.weight attention1.output.weight attention1.query.weight attention1.value.weight", 0},
	{"attention, heads that share keys", "float32[N,T,8]", layers.Attention{Heads: 4, KVHeads: 2, HeadSize: 3, Scale: 1, NoBias: true}, "float32[N,T,8]",
		"attention1.key.weight attention1.output.weight attention1.query.weight attention1.value.weight", 8},
	{"attention to what came before", "float32[N,5,4]", layers.Attention{Heads: 2, Causal: true, NoBias: true}, "float32[N,5,4]",
		"attention1.key.weight attention1.output.weight attention1.query.weight attention1.value.weight", 9},
	{"attention to what came before, of any length", "float32[N,T,4]", layers.Attention{Heads: 2, Causal: true, NoBias: true}, "float32[N,T,4]",
		"attention1.key.weight attention1.output.weight attention1.query.weight attention1.value.weight", 14},
	{"attention with dropout", "float32[N,T,4]", layers.Attention{Heads: 2, Dropout: 0.1, NoBias: true}, "float32[N,T,4]",
		"attention1.key.weight attention1.output.weight attention1.query.weight attention1.value.weight", 0},
	{"attention in windows", "float32[N,3,5,4]", layers.Attention{Heads: 2, KVHeads: 1, NoBias: true}, "float32[N,3,5,4]",
		"attention1.key.weight attention1.output.weight attention1.query.weight attention1.value.weight", 8},
	{"sequential", "float32[N,4]", nn.Sequential{layers.Linear{Out: 3}, layers.Linear{Out: 2}}, "float32[N,2]", "linear1.bias linear1.weight linear2.bias linear2.weight", 0},
	{"named", "float32[N,4]", layers.Named{Name: "block", Layer: nn.Sequential{layers.Linear{Out: 3, Name: "fc"}, layers.ReLU{}}}, "float32[N,3]", "block.fc.bias block.fc.weight", 0},
	{"residual", "float32[N,4]", layers.Residual{Body: layers.Linear{Out: 3}, Shortcut: layers.Linear{Out: 3, NoBias: true}}, "float32[N,3]", "linear1.bias linear1.weight linear2.weight", 0},
	{"parallel", "float32[N,4]", layers.Parallel{Branches: []nn.Layer{layers.ReLU{}, layers.Linear{Out: 3, NoBias: true}}}, "float32[N,7]", "linear1.weight", 0},
	{"operator", "float32[N,4]", nn.OpLayer{Config: op.Plain("Neg")}, "float32[N,4]", "", 0},
	{"function", "float32[N,4]", nn.LayerFunc(func(e *nn.Edit, in ...*nn.Value) []*nn.Value { return in }), "float32[N,4]", "", 0},
}

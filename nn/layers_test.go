package nn_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/std"
)

var layerCases = []struct {
	name   string
	in     string
	layer  nn.Layer
	want   string
	params string
	old    int // the oldest operator set it works in; 0: 7
}{
	{"linear", "float32[N,4]", nn.Linear{Out: 3}, "float32[N,3]", "linear1.bias linear1.weight", 0},
	{"linear without bias", "float32[N,4]", nn.Linear{Out: 3, NoBias: true, Name: "fc"}, "float32[N,3]", "fc.weight", 0},
	{"linear of rank 3", "float32[N,T,4]", nn.Linear{Out: 3}, "float32[N,T,3]", "linear1.bias linear1.weight", 0},
	{"linear of the same size", "float64[N,4]", nn.Linear{}, "float64[N,4]", "linear1.bias linear1.weight", 0},
	{"conv", "float32[N,4,8,8]", nn.Conv{Out: 6, Kernel: []int{3}}, "float32[N,6,6,6]", "conv1.bias conv1.weight", 0},
	{"conv settings", "float32[N,4,9,8]", nn.Conv{Out: 6, Kernel: []int{3, 2}, Stride: []int{2}, Pad: []int{1, 0, 1, 1}, Dilation: []int{1, 2}, Group: 2, NoBias: true}, "float32[N,6,5,4]", "conv1.weight", 0},
	{"conv same", "float32[N,4,9,8]", nn.Conv{Out: 6, Kernel: []int{3, 2}, Stride: []int{2}, Same: true}, "float32[N,6,5,4]", "conv1.bias conv1.weight", 0},
	{"conv of one axis", "float32[N,4,9]", nn.Conv{Out: 6, Kernel: []int{3}}, "float32[N,6,7]", "conv1.bias conv1.weight", 0},
	{"transposed conv", "float32[N,4,5,5]", nn.ConvTranspose{Out: 2, Kernel: []int{3}, Stride: []int{2}, Pad: []int{1}, OutPad: []int{1}}, "float32[N,2,10,10]", "convtranspose1.bias convtranspose1.weight", 0},
	{"batch norm", "float32[N,4,5,5]", nn.BatchNorm{}, "float32[N,4,5,5]", "batchnorm1.bias batchnorm1.running_mean batchnorm1.running_var batchnorm1.weight", 0},
	{"layer norm", "float32[N,4,5]", nn.LayerNorm{}, "float32[N,4,5]", "layernorm1.bias layernorm1.weight", 0},
	{"layer norm of two axes", "float32[N,4,5]", nn.LayerNorm{Axes: 2, Eps: 1e-3}, "float32[N,4,5]", "layernorm1.bias layernorm1.weight", 0},
	{"instance norm", "float32[N,4,5,5]", nn.InstanceNorm{}, "float32[N,4,5,5]", "instancenorm1.bias instancenorm1.weight", 0},
	{"group norm", "float32[N,4,5,5]", nn.GroupNorm{Groups: 2}, "float32[N,4,5,5]", "groupnorm1.bias groupnorm1.weight", 0},
	{"relu", "float32[N,4]", nn.ReLU{}, "float32[N,4]", "", 0},
	{"leaky relu", "float32[N,4]", nn.LeakyReLU{}, "float32[N,4]", "", 0},
	{"prelu", "float32[N,4,2]", nn.PReLU{}, "float32[N,4,2]", "prelu1.weight", 9},
	{"elu", "float32[N,4]", nn.ELU{}, "float32[N,4]", "", 0},
	{"sigmoid", "float32[N,4]", nn.Sigmoid{}, "float32[N,4]", "", 0},
	{"tanh", "float32[N,4]", nn.Tanh{}, "float32[N,4]", "", 0},
	{"gelu", "float32[N,4]", nn.GELU{}, "float32[N,4]", "", 9},
	{"gelu by tanh", "float32[N,4]", nn.GELU{Tanh: true}, "float32[N,4]", "", 0},
	{"silu", "float32[N,4]", nn.SiLU{}, "float32[N,4]", "", 0},
	{"softmax", "float32[N,4,3]", nn.Softmax{}, "float32[N,4,3]", "", 0},
	{"softmax over channels", "float32[N,4,3]", nn.Softmax{Axis: 1}, "float32[N,4,3]", "", 0},
	{"log softmax", "float32[N,4]", nn.LogSoftmax{}, "float32[N,4]", "", 0},
	{"max pool", "float32[N,4,9,8]", nn.MaxPool{Kernel: []int{2}}, "float32[N,4,4,4]", "", 0},
	{"max pool same", "float32[N,4,9,8]", nn.MaxPool{Kernel: []int{3}, Stride: []int{2}, Same: true}, "float32[N,4,5,4]", "", 0},
	{"average pool", "float32[N,4,9,8]", nn.AvgPool{Kernel: []int{2}, Stride: []int{1}, Pad: []int{1}, CountPadding: true}, "float32[N,4,10,9]", "", 0},
	{"global average pool", "float32[N,4,9,8]", nn.GlobalAvgPool{}, "float32[N,4,1,1]", "", 0},
	{"global max pool", "float32[N,4,9,8]", nn.GlobalMaxPool{}, "float32[N,4,1,1]", "", 0},
	{"flatten", "float32[N,4,9,8]", nn.Flatten{}, "float32[N,288]", "", 0},
	{"reshape", "float32[N,4,6]", nn.Reshape{Dims: []int{0, -1}}, "float32[N,24]", "", 0},
	{"transpose", "float32[N,4,6]", nn.Transpose{Perm: []int{0, 2, 1}}, "float32[N,6,4]", "", 0},
	{"dropout", "float32[N,4]", nn.Dropout{P: 0.3}, "float32[N,4]", "", 0},
	{"embedding", "int64[N,5]", nn.Embedding{Num: 4, Dim: 3}, "float32[N,5,3]", "embedding1.weight", 0},
	{"lstm", "float32[T,N,4]", nn.LSTM{Hidden: 3}, "float32[T,N,3]", "lstm1.bias lstm1.weight_hh lstm1.weight_ih", 0},
	{"lstm, two ways, two layers", "float32[N,T,4]", nn.LSTM{Hidden: 3, Bidirectional: true, BatchFirst: true, Layers: 2, Dropout: 0.1}, "float32[N,T,6]",
		"lstm1.0.bias lstm1.0.weight_hh lstm1.0.weight_ih lstm1.1.bias lstm1.1.weight_hh lstm1.1.weight_ih", 0},
	{"gru", "float32[T,N,4]", nn.GRU{Hidden: 3}, "float32[T,N,3]", "gru1.bias gru1.weight_hh gru1.weight_ih", 0},
	{"rnn", "float32[T,N,4]", nn.RNN{Hidden: 3}, "float32[T,N,3]", "rnn1.bias rnn1.weight_hh rnn1.weight_ih", 0},
	{"attention", "float32[N,T,4]", nn.Attention{Heads: 2, NoBias: true}, "float32[N,T,4]",
		"attention1.key.weight attention1.output.weight attention1.query.weight attention1.value.weight", 0},
	{"sequential", "float32[N,4]", nn.Sequential{nn.Linear{Out: 3}, nn.Linear{Out: 2}}, "float32[N,2]", "linear1.bias linear1.weight linear2.bias linear2.weight", 0},
	{"named", "float32[N,4]", nn.Named{"block", nn.Sequential{nn.Linear{Out: 3, Name: "fc"}, nn.ReLU{}}}, "float32[N,3]", "block.fc.bias block.fc.weight", 0},
	{"residual", "float32[N,4]", nn.Residual{Body: nn.Linear{Out: 3}, Shortcut: nn.Linear{Out: 3, NoBias: true}}, "float32[N,3]", "linear1.bias linear1.weight linear2.weight", 0},
	{"parallel", "float32[N,4]", nn.Parallel{Branches: []nn.Layer{nn.ReLU{}, nn.Linear{Out: 3, NoBias: true}}}, "float32[N,7]", "linear1.weight", 0},
	{"operator", "float32[N,4]", nn.Op{Config: op.Plain("Neg")}, "float32[N,4]", "", 0},
	{"function", "float32[N,4]", nn.Func(func(e *nn.Edit, in ...*nn.Value) []*nn.Value { return in }), "float32[N,4]", "", 0},
}

// TestLayers builds each layer in old and new operator sets. The forms differ, the results must not.
func TestLayers(t *testing.T) {
	for _, c := range layerCases {
		t.Run(c.name, func(t *testing.T) {
			var want []float64
			for _, opset := range []int{21, 17, 13, 12, 9, 7} {
				if opset < c.old {
					continue
				}
				g := nn.NewGraph("m", std.Operators(), map[string]int{"": opset})
				edit(t, g, func(e *nn.Edit) {
					x := e.Input("x", c.in)
					e.Output("y", e.Apply(c.layer, x))
				})
				y := g.Outputs()[0]
				if got := y.Type().String(); got != c.want {
					t.Fatalf("operator set %d: output is %s, want %s", opset, got, c.want)
				}
				if got := trained(g); got != c.params {
					t.Fatalf("operator set %d: parameters %q, want %q", opset, got, c.params)
				}
				got := run(t, g, sample(t, g.Inputs()[0].Type()))
				if want == nil {
					want = got
				}
				near(t, c.name, got, want, 1e-5)
			}
		})
	}
}

func TestLayerRefusals(t *testing.T) {
	cases := []struct {
		name  string
		in    string
		layer nn.Layer
		want  string
	}{
		{"no kernel", "float32[N,3,8,8]", nn.Conv{Out: 4}, "edit: Conv: has no kernel size"},
		{"kernel of three", "float32[N,3,8,8]", nn.Conv{Out: 4, Kernel: []int{3, 3, 3}}, "edit: Conv: kernel [3 3 3]: want one number or 2"},
		{"zero stride", "float32[N,3,8,8]", nn.Conv{Out: 4, Kernel: []int{3}, Stride: []int{0}}, "edit: Conv: stride [0]: want 1 or more"},
		{"pad and same", "float32[N,3,8,8]", nn.Conv{Out: 4, Kernel: []int{3}, Pad: []int{1}, Same: true}, "edit: Conv: pad [1]: Same chooses the padding"},
		{"groups", "float32[N,3,8,8]", nn.Conv{Out: 4, Kernel: []int{3}, Group: 2}, "edit: Conv: 2 groups do not divide 3 input and 4 output channels"},
		{"open channels", "float32[N,?,8,8]", nn.Conv{Out: 4, Kernel: []int{3}}, "edit: Conv: input x: want a number for axis 1, got float32[N,?,8,8]"},
		{"too few axes", "float32[N,3]", nn.MaxPool{Kernel: []int{2}}, "edit: MaxPool: input x: want at least 3 axes, got float32[N,3]"},
		{"negative size", "float32[N,3]", nn.Linear{Out: -1}, "edit: Linear: linear1.weight would have shape [-1 3]: every size must be positive"},
		{"all dropped", "float32[N,3]", nn.Dropout{P: 1}, "edit: Dropout: cannot drop a share of 1: want 0 or more and less than 1"},
		{"axis", "float32[N,3]", nn.Softmax{Axis: 2}, "edit: Softmax: input x: want an axis 2, got float32[N,3]"},
		{"heads", "float32[N,T,3]", nn.Attention{Heads: 2}, "edit: Attention: 2 heads do not divide the size 3"},
		{"place", "float32[N,3,8,8]", nn.Sequential{nn.ReLU{}, nn.Sequential{nn.ReLU{}, nn.Conv{}}}, "edit: Sequential[1] Sequential[1] Conv: has no kernel size"},
		{"nothing in sequence", "float32[N,3]", nn.Sequential{}, "edit: Sequential: there are no layers"},
		{"nil layer", "float32[N,3]", nn.Sequential{nil}, "edit: Sequential[0]: a layer is nil"},
		{"no operator", "float32[N,3]", nn.Op{}, "edit: Op: no operator is given"},
		{"no hidden units", "float32[T,N,3]", nn.LSTM{}, "edit: LSTM: Hidden is 0: want a positive number"},
		{"shapes do not match", "float32[N,3]", nn.Residual{Body: nn.Linear{Out: 2}}, "edit: Add Residual add1: shapes [[N,3] [N,2]] do not broadcast: dimension 1 is 3 and 2"},
		{"integers", "int64[N,3]", nn.Linear{Out: 2}, `edit: Linear: linear1.weight would be int64 as "x" is: weights are floating-point numbers`},
		{"empty table", "int64[N]", nn.Embedding{Num: 3}, "edit: Embedding: a table of 3 vectors of length 0 is empty"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			g := nn.New("m")
			before := dump(g)
			err := g.Edit(func(e *nn.Edit) { e.Output("y", e.Apply(c.layer, e.Input("x", c.in))) })
			if err == nil || err.Error() != c.want {
				t.Errorf("error %v\nwant  %s", err, c.want)
			}
			if now := dump(g); now != before {
				t.Errorf("the refused edit changed the graph:\n%s", now)
			}
		})
	}
}

// TestIdentity inserts layers that start as the identity: nothing may change but the last bit.
func TestIdentity(t *testing.T) {
	cases := []struct {
		at    string
		layer nn.Layer
	}{
		{"stem", nn.BatchNorm{}},
		{"stem", nn.BatchNorm{Eps: 0.1}},
		{"act", nn.Conv{Kernel: []int{3}}},
		{"act", nn.Conv{Kernel: []int{4, 1}, Dilation: []int{2, 1}}},
		{"act", nn.Conv{Kernel: []int{1}, Group: 2}},
		{"features", nn.Linear{}},
		{"act", nn.Residual{Body: nn.Sequential{nn.Conv{Out: 2, Kernel: []int{1}}, nn.ReLU{}, nn.Named{"up", nn.Conv{Out: 4, Kernel: []int{1}}}}}},
		{"features", nn.Residual{Body: nn.Sequential{nn.Linear{Out: 2}, nn.GELU{}, nn.Linear{Out: 4}}}},
		{"features", nn.Named{"probe", nn.Sequential{nn.Linear{}, nn.BatchNorm{}}}},
	}
	x := ramp(2, 3, 8, 8)
	for _, c := range cases {
		g := small(t)
		want := run(t, g, x)
		edit(t, g, func(e *nn.Edit) { e.Insert(e.Value(c.at), c.layer) })
		near(t, c.at, run(t, g, x), want, 1e-6)
	}
}

// TestFormulas compares layers with what they are defined as, written out.
func TestFormulas(t *testing.T) {
	gelu := func(x float64) float64 { return x * 0.5 * (1 + math.Erf(x/math.Sqrt2)) }
	silu := func(x float64) float64 { return x / (1 + math.Exp(-x)) }
	for _, c := range []struct {
		name  string
		layer nn.Layer
		want  func(row []float64) []float64
	}{
		{"gelu", nn.GELU{}, each(gelu)},
		{"silu", nn.SiLU{}, each(silu)},
		{"leaky relu", nn.LeakyReLU{Slope: 0.1}, each(func(x float64) float64 { return math.Max(x, 0.1*x) })},
		{"elu", nn.ELU{Alpha: 2}, each(func(x float64) float64 {
			if x > 0 {
				return x
			}
			return 2 * math.Expm1(x)
		})},
		{"softmax", nn.Softmax{}, func(row []float64) []float64 {
			var s float64
			for _, x := range row {
				s += math.Exp(x)
			}
			return each(func(x float64) float64 { return math.Exp(x) / s })(row)
		}},
		{"layer norm", nn.LayerNorm{Eps: 0.5}, func(row []float64) []float64 {
			var mean, variance float64
			for _, x := range row {
				mean += x / float64(len(row))
			}
			for _, x := range row {
				variance += (x - mean) * (x - mean) / float64(len(row))
			}
			return each(func(x float64) float64 { return (x - mean) / math.Sqrt(variance+0.5) })(row)
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := nn.New("m")
			edit(t, g, func(e *nn.Edit) { e.Output("y", e.Apply(c.layer, e.Input("x", "float32[N,6]"))) })
			x := ramp(3, 6)
			var want []float64
			v := x.Data().([]float32)
			for i := 0; i < len(v); i += 6 {
				row := make([]float64, 6)
				for k := range row {
					row[k] = float64(v[i+k])
				}
				want = append(want, c.want(row)...)
			}
			near(t, c.name, run(t, g, x), want, 1e-5)
		})
	}
}

func each(f func(float64) float64) func([]float64) []float64 {
	return func(row []float64) []float64 {
		out := make([]float64, len(row))
		for i, x := range row {
			out[i] = f(x)
		}
		return out
	}
}

// TestAttention compares with attention written out for every head, row and column.
func TestAttention(t *testing.T) {
	const seq, size, heads = 3, 4, 2
	g := nn.New("m")
	edit(t, g, func(e *nn.Edit) {
		e.Output("y", e.Apply(nn.Attention{Heads: heads, NoBias: true, Name: "a"}, e.Input("x", "float32[N,T,4]")))
	})
	matrix := func(name string) []float32 {
		v, err := g.Value("a." + name + ".weight")
		if err != nil {
			t.Fatal(err)
		}
		return v.Param().Data().Data().([]float32)
	}
	x := ramp(1, seq, size)
	times := func(a []float64, w []float32) []float64 {
		out := make([]float64, seq*size)
		for i := range seq {
			for j := range size {
				for k := range size {
					out[i*size+j] += a[i*size+k] * float64(w[k*size+j])
				}
			}
		}
		return out
	}
	in := make([]float64, seq*size)
	for i, v := range x.Data().([]float32) {
		in[i] = float64(v)
	}
	q, k, v := times(in, matrix("query")), times(in, matrix("key")), times(in, matrix("value"))
	mixed := make([]float64, seq*size)
	per := size / heads
	for h := range heads {
		for i := range seq {
			var w [seq]float64
			var total float64
			for j := range seq {
				var dot float64
				for c := h * per; c < (h+1)*per; c++ {
					dot += q[i*size+c] * k[j*size+c]
				}
				w[j] = math.Exp(dot / math.Sqrt(float64(per)))
				total += w[j]
			}
			for j := range seq {
				for c := h * per; c < (h+1)*per; c++ {
					mixed[i*size+c] += w[j] / total * v[j*size+c]
				}
			}
		}
	}
	near(t, "attention", run(t, g, x), times(mixed, matrix("output")), 1e-5)
}

// TestSeed: initial values depend on seed and name alone.
func TestSeed(t *testing.T) {
	weights := func(seed uint64, name string, before nn.Layer) string {
		g := nn.New("m")
		edit(t, g, func(e *nn.Edit) {
			e.Seed(seed)
			e.Output("y", e.Apply(nn.Sequential{before, nn.Linear{Out: 4, Name: name}}, e.Input("x", "float32[N,4]")))
		})
		v, err := g.Value(name + ".weight")
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprint(v.Param().Data().Data())
	}
	want := weights(1, "fc", nn.ReLU{})
	if weights(1, "fc", nn.Linear{}) != want {
		t.Error("a layer in front changes the values")
	}
	if weights(2, "fc", nn.ReLU{}) == want || weights(1, "fd", nn.ReLU{}) == want {
		t.Error("another seed or name gives the same values")
	}
}

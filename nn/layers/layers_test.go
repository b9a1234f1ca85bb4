package layers_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/graft-ml/graft/internal/nntest"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/layers"
	"github.com/graft-ml/graft/nn/op/std"
)

// TestLayers builds each layer in old and new operator sets. The forms differ, the results must not.
func TestLayers(t *testing.T) {
	for _, c := range nntest.LayerCases {
		t.Run(c.Name, func(t *testing.T) {
			var want []float64
			for _, opset := range []int{21, 17, 13, 12, 9, 7} {
				if opset < c.Old {
					continue
				}
				g := nn.NewGraph("m", std.Operators(), map[string]int{"": opset})
				nntest.Edit(t, g, func(e *nn.Edit) {
					x := e.Input("x", c.In)
					e.Output("y", e.Apply(c.Layer, x))
				})
				y := g.Outputs()[0]
				if got := y.Type().String(); got != c.Want {
					t.Fatalf("operator set %d: output is %s, want %s", opset, got, c.Want)
				}
				if got := nntest.Trained(g); got != c.Params {
					t.Fatalf("operator set %d: parameters %q, want %q", opset, got, c.Params)
				}
				got := nntest.Run(t, g, nntest.Sample(t, g.Inputs()[0].Type()))
				if want == nil {
					want = got
				}
				nntest.Near(t, c.Name, got, want, 1e-5)
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
		{"no kernel", "float32[N,3,8,8]", layers.Conv{Out: 4}, "edit: Conv: has no kernel size"},
		{"kernel of three", "float32[N,3,8,8]", layers.Conv{Out: 4, Kernel: []int{3, 3, 3}}, "edit: Conv: kernel [3 3 3]: want one number or 2"},
		{"zero stride", "float32[N,3,8,8]", layers.Conv{Out: 4, Kernel: []int{3}, Stride: []int{0}}, "edit: Conv: stride [0]: want 1 or more"},
		{"pad and same", "float32[N,3,8,8]", layers.Conv{Out: 4, Kernel: []int{3}, Pad: []int{1}, Same: true}, "edit: Conv: pad [1]: Same chooses the padding"},
		{"groups", "float32[N,3,8,8]", layers.Conv{Out: 4, Kernel: []int{3}, Group: 2}, "edit: Conv: 2 groups do not divide 3 input and 4 output channels"},
		{"open channels", "float32[N,?,8,8]", layers.Conv{Out: 4, Kernel: []int{3}}, "edit: Conv: input x: want a number for axis 1, got float32[N,?,8,8]"},
		{"too few axes", "float32[N,3]", layers.MaxPool{Kernel: []int{2}}, "edit: MaxPool: input x: want at least 3 axes, got float32[N,3]"},
		{"negative size", "float32[N,3]", layers.Linear{Out: -1}, "edit: Linear: linear1.weight would have shape [-1 3]: every size must be positive"},
		{"epsilon below 0", "float32[N,3]", layers.BatchNorm{Eps: -1}, "edit: BatchNorm: Eps is -1: want 0 or more"},
		{"infinite epsilon", "float32[N,3]", layers.LayerNorm{Eps: math.Inf(1)}, "edit: LayerNorm: LayerNormalization: epsilon is +Inf: want a finite number"},
		{"momentum", "float32[N,3]", layers.BatchNorm{Momentum: 2}, "edit: BatchNorm: Momentum is 2: want a fraction from 0 to 1"},
		{"axes below 0", "float32[N,3]", layers.RMSNorm{Axes: -1}, "edit: RMSNorm: Axes is -1: want 0 or more"},
		{"no slope", "float32[N,3]", layers.LeakyReLU{Slope: math.NaN()}, "edit: LeakyReLU: LeakyRelu: alpha is NaN: want a finite number"},
		{"all dropped", "float32[N,3]", layers.Dropout{P: 1}, "edit: Dropout: cannot drop a share of 1: want 0 or more and less than 1"},
		{"axis", "float32[N,3]", layers.Softmax{Axis: new(2)}, "edit: Softmax: input x: want an axis 2, got float32[N,3]"},
		{"heads", "float32[N,T,3]", layers.Attention{Heads: 2}, "edit: Attention: 2 heads do not divide the size 3"},
		{"heads of keys", "float32[N,T,6]", layers.Attention{Heads: 3, KVHeads: 2}, "edit: Attention: 2 heads of keys and values do not divide 3 heads"},
		{"place", "float32[N,3,8,8]", nn.Sequential{layers.ReLU{}, nn.Sequential{layers.ReLU{}, layers.Conv{}}}, "edit: Sequential[1] Sequential[1] Conv: has no kernel size"},
		{"nothing in sequence", "float32[N,3]", nn.Sequential{}, "edit: Sequential: there are no layers"},
		{"nil layer", "float32[N,3]", nn.Sequential{nil}, "edit: Sequential[0]: a layer is nil"},
		{"no operator", "float32[N,3]", nn.OpLayer{}, "edit: OpLayer: no operator is given"},
		{"no hidden units", "float32[T,N,3]", layers.LSTM{}, "edit: LSTM: Hidden is 0: want a positive number"},
		{"states of several layers", "float32[T,N,3]", several(1, layers.GRU{Hidden: 2, Layers: 2}), "edit: LayerFunc GRU: 2 layers cannot share an initial state: write a layer for each"},
		{"a cell state", "float32[T,N,3]", several(2, layers.RNN{Hidden: 2}), "edit: LayerFunc RNN: takes one to 2 inputs, got 3"},
		{"no places", "float32[N,3]", layers.Roll{Axis: 1}, "edit: Roll: By is 0: want the number of places"},
		{"steps back", "float32[N,3]", layers.Slice{Axis: 1, Step: -1}, "edit: Slice: Step is -1: want a positive number"},
		{"windows that do not fit", "float32[N,6,8,3]", layers.WindowPartition{Size: []int{4}}, "edit: WindowPartition: windows of 4 × 4 do not divide images of 6 × 8"},
		{"windows of nothing", "float32[N,6,8,3]", layers.WindowPartition{Size: []int{0}}, "edit: WindowPartition: window [0]: want 1 or more"},
		{"images of nothing", "float32[N,6,8,3]", layers.WindowReverse{Size: []int{2}}, "edit: WindowReverse: windows of 2 × 2 do not divide images of 0 × 0"},
		{"channels of two axes", "float32[N,4,5]", layers.LayerNorm{Axes: 2, ChannelsFirst: true}, "edit: LayerNorm: Axes is 2, but the channels are one axis"},
		{"a rotation of no base", "float32[N,4,6]", layers.Attention{Heads: 1, Rotary: 1}, "edit: Attention: Rotary is 1: want a base above 1"},
		{"a rotation of odd channels", "float32[N,4,6]", layers.Attention{Heads: 2, Rotary: 100}, "edit: Attention: cannot rotate 3 of the 3 channels of a head: want an even number of them"},
		{"a window of one number", "float32[N,4,6]", layers.Attention{Heads: 2, Window: []int{4}}, "edit: Attention: Window is [4]: want a height and a width"},
		{"no axes", "float32[N,3]", layers.Mean{}, "edit: Mean: Axes is empty: want the axes to average over"},
		{"all weights dropped", "float32[N,T,4]", layers.Attention{Heads: 2, Dropout: 1}, "edit: Attention: cannot drop a share of 1: want 0 or more and less than 1"},
		{"shapes do not match", "float32[N,3]", layers.Residual{Body: layers.Linear{Out: 2}}, "edit: Add Residual add1: shapes [[N,3] [N,2]] do not broadcast: dimension 1 is 3 and 2"},
		{"integers", "int64[N,3]", layers.Linear{Out: 2}, `edit: Linear: linear1.weight would be int64 like "x": weights must be floating-point numbers`},
		{"empty table", "int64[N]", layers.Embedding{Num: 3}, "edit: Embedding: a table of 3 vectors of length 0 is empty"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			g := nn.New("m")
			before := nntest.Dump(g)
			err := g.Edit(func(e *nn.Edit) { e.Output("y", e.Apply(c.layer, e.Input("x", c.in))) })
			if err == nil || err.Error() != c.want {
				t.Errorf("error %v\nwant  %s", err, c.want)
			}
			if now := nntest.Dump(g); now != before {
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
		{"stem", layers.BatchNorm{}},
		{"stem", layers.BatchNorm{Eps: 0.1}},
		{"act", layers.Conv{Kernel: []int{3}}},
		{"act", layers.Conv{Kernel: []int{4, 1}, Dilation: []int{2, 1}}},
		{"act", layers.Conv{Kernel: []int{1}, Group: 2}},
		{"features", layers.Linear{}},
		{"act", layers.Residual{Body: nn.Sequential{layers.Conv{Out: 2, Kernel: []int{1}}, layers.ReLU{}, layers.Named{"up", layers.Conv{Out: 4, Kernel: []int{1}}}}}},
		{"features", layers.Residual{Body: nn.Sequential{layers.Linear{Out: 2}, layers.GELU{}, layers.Linear{Out: 4}}}},
		{"features", layers.Named{"probe", nn.Sequential{layers.Linear{}, layers.BatchNorm{}}}},
	}
	x := nntest.Ramp(2, 3, 8, 8)
	for _, c := range cases {
		g := nntest.Small(t)
		want := nntest.Run(t, g, x)
		nntest.Edit(t, g, func(e *nn.Edit) { e.Insert(e.Value(c.at), c.layer) })
		nntest.Near(t, c.at, nntest.Run(t, g, x), want, 1e-6)
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
		{"gelu", layers.GELU{}, each(gelu)},
		{"silu", layers.SiLU{}, each(silu)},
		{"relu6", layers.ReLU6{}, each(func(x float64) float64 { return min(max(x, 0), 6) })},
		{"leaky relu", layers.LeakyReLU{Slope: 0.1}, each(func(x float64) float64 { return math.Max(x, 0.1*x) })},
		{"elu", layers.ELU{Alpha: 2}, each(func(x float64) float64 {
			if x > 0 {
				return x
			}
			return 2 * math.Expm1(x)
		})},
		{"softmax", layers.Softmax{}, func(row []float64) []float64 {
			var s float64
			for _, x := range row {
				s += math.Exp(x)
			}
			return each(func(x float64) float64 { return math.Exp(x) / s })(row)
		}},
		{"layer norm", layers.LayerNorm{Eps: 0.5}, func(row []float64) []float64 {
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
			nntest.Edit(t, g, func(e *nn.Edit) { e.Output("y", e.Apply(c.layer, e.Input("x", "float32[N,6]"))) })
			x := nntest.Ramp(3, 6)
			var want []float64
			v := x.Data().([]float32)
			for i := 0; i < len(v); i += 6 {
				row := make([]float64, 6)
				for k := range row {
					row[k] = float64(v[i+k])
				}
				want = append(want, c.want(row)...)
			}
			nntest.Near(t, c.name, nntest.Run(t, g, x), want, 1e-5)
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
	nntest.Edit(t, g, func(e *nn.Edit) {
		e.Output("y", e.Apply(layers.Attention{Heads: heads, NoBias: true, Name: "a"}, e.Input("x", "float32[N,T,4]")))
	})
	matrix := func(name string) []float32 {
		v, err := g.Value("a." + name + ".weight")
		if err != nil {
			t.Fatal(err)
		}
		return v.Param().Data().Data().([]float32)
	}
	x := nntest.Ramp(1, seq, size)
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
	nntest.Near(t, "attention", nntest.Run(t, g, x), times(mixed, matrix("output")), 1e-5)
}

// TestSeed: initial values depend on seed and name alone.
func TestSeed(t *testing.T) {
	weights := func(seed uint64, name string, before nn.Layer) string {
		g := nn.New("m")
		nntest.Edit(t, g, func(e *nn.Edit) {
			e.Seed(seed)
			e.Output("y", e.Apply(nn.Sequential{before, layers.Linear{Out: 4, Name: name}}, e.Input("x", "float32[N,4]")))
		})
		v, err := g.Value(name + ".weight")
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprint(v.Param().Data().Data())
	}
	want := weights(1, "fc", layers.ReLU{})
	if weights(1, "fc", layers.Linear{}) != want {
		t.Error("a layer in front changes the values")
	}
	if weights(2, "fc", layers.ReLU{}) == want || weights(1, "fd", layers.ReLU{}) == want {
		t.Error("another seed or name gives the same values")
	}
}

package contrib_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"go/build"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/graft-ml/graft/internal/oracle"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/contrib"
	"github.com/graft-ml/graft/nn/op/optest"
	"github.com/graft-ml/graft/nn/op/std"
	"github.com/graft-ml/graft/onnxio"
	"gorgonia.org/tensor"
)

var update = flag.Bool("update", false, "let ONNX Runtime compute testdata/golden.json again")

// use is one use of an operator.
type use struct {
	optest.Case
	gpu bool // ONNX Runtime has it for other processors only, or had it once: no expected values
}

func set(t testing.TB) op.Set {
	t.Helper()
	s, err := contrib.With(std.Operators())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func pointer[T any](x T) *T { return &x }

// spread are floats around zero, none of them near it.
func spread(seed uint64, dims ...int) dtype.Value {
	n, err := dtype.Count(dims)
	if err != nil {
		panic(err)
	}
	r, x := rand.New(rand.NewPCG(seed, 7)), make([]float32, n)
	for i := range x {
		if x[i] = 0.2 + r.Float32(); r.IntN(2) == 0 {
			x[i] = -x[i]
		}
	}
	d, err := dtype.FromSlice(x, dims...)
	if err != nil {
		panic(err)
	}
	return d
}

func uses() []use {
	in := func(v ...dtype.Value) []dtype.Value { return v }
	x := spread
	return []use{
		{Case: optest.Case{Name: "Gelu", Config: plain("Gelu"), In: in(x(1, 2, 3, 5))}},
		{Case: optest.Case{Name: "QuickGelu", Config: contrib.QuickGeluConfig{}, In: in(x(1, 2, 3, 5))}},
		{Case: optest.Case{Name: "QuickGelu alpha", Config: contrib.QuickGeluConfig{Alpha: pointer[float32](0.7)}, In: in(x(2, 4, 5))}},
		{Case: optest.Case{Name: "FastGelu", Config: plain("FastGelu"), In: in(x(3, 2, 3, 5))}},
		{Case: optest.Case{Name: "FastGelu bias", Config: plain("FastGelu"), In: in(x(3, 2, 3, 5), x(4, 5))}},
		{Case: optest.Case{Name: "BiasGelu", Config: plain("BiasGelu"), In: in(x(5, 2, 3, 5), x(6, 5))}},
		{Case: optest.Case{Name: "BiasSplitGelu", Config: plain("BiasSplitGelu"), In: in(x(7, 2, 3, 8), x(8, 8))}, gpu: true},
		{Case: optest.Case{Name: "BiasAdd", Config: plain("BiasAdd"), In: in(x(7, 2, 3, 4), x(8, 4), x(9, 2, 3, 4))}, gpu: true},
		{Case: optest.Case{Name: "BiasSoftmax", Config: contrib.BiasSoftmaxConfig{Axis: 2, InnerBroadcast: true}, In: in(x(7, 2, 3, 4), x(8, 2, 1, 4))}, gpu: true},

		{Case: optest.Case{Name: "FusedMatMul", Config: contrib.FusedMatMulConfig{Alpha: pointer[float32](0.5)}, In: in(x(1, 2, 3, 4), x(2, 2, 4, 5))}},
		{Case: optest.Case{Name: "FusedMatMul transA", Config: contrib.FusedMatMulConfig{TransA: true}, In: in(x(1, 2, 4, 3), x(2, 4, 5))}},
		{Case: optest.Case{Name: "FusedMatMul transB", Config: contrib.FusedMatMulConfig{TransB: true}, In: in(x(1, 2, 3, 4), x(2, 2, 5, 4))}},
		{Case: optest.Case{Name: "FusedMatMul batches", Config: contrib.FusedMatMulConfig{TransBatchA: true, TransBatchB: true}, In: in(x(1, 3, 2, 4), x(2, 4, 2, 5))}},
		{Case: optest.Case{Name: "FusedMatMul all", Config: contrib.FusedMatMulConfig{TransA: true, TransB: true, TransBatchA: true, TransBatchB: true}, In: in(x(1, 4, 2, 3), x(2, 5, 2, 4))}},
		{Case: optest.Case{Name: "FusedMatMulActivation", Config: contrib.FusedMatMulActivationConfig{Activation: "LeakyRelu", ActAlpha: pointer[float32](0.2), TransB: true}, In: in(x(1, 2, 3, 4), x(2, 2, 5, 4))}, gpu: true},
		{Case: optest.Case{Name: "FusedGemm", Config: contrib.FusedGemmConfig{Activation: "Relu", Alpha: pointer[float32](0.5), Beta: pointer[float32](2), TransA: true}, In: in(x(1, 4, 3), x(2, 4, 5), x(3, 5))}},
		{Case: optest.Case{Name: "FusedGemm leaky", Config: contrib.FusedGemmConfig{Activation: "LeakyRelu", ActAlpha: pointer[float32](0.3), TransB: true}, In: in(x(1, 3, 4), x(2, 5, 4), x(3, 3, 1))}},
		{Case: optest.Case{Name: "FusedGemm sigmoid", Config: contrib.FusedGemmConfig{Activation: "Sigmoid"}, In: in(x(1, 3, 4), x(2, 4, 5))}},
		{Case: optest.Case{Name: "FusedGemm hard", Config: contrib.FusedGemmConfig{Activation: "HardSigmoid", ActAlpha: pointer[float32](0.1), ActBeta: pointer[float32](0.4)}, In: in(x(1, 3, 4), x(2, 4, 5))}},

		{Case: optest.Case{Name: "FusedConv", Config: contrib.FusedConvConfig{Activation: "Relu", Kernel: []int{3, 2}, Pads: []int{1, 0, 2, 1}, Strides: []int{2, 1}}, In: in(x(1, 2, 3, 5, 6), x(2, 4, 3, 3, 2), x(3, 4))}},
		{Case: optest.Case{Name: "FusedConv sum", Config: contrib.FusedConvConfig{Activation: "LeakyRelu", Params: []float32{0.1}, Kernel: []int{3, 3}, Group: 2, Dilations: []int{1, 2}}, In: in(x(1, 1, 4, 5, 7), x(2, 6, 2, 3, 3), x(3, 6), x(4, 1, 6, 3, 3))}},
		{Case: optest.Case{Name: "FusedConv clip", Config: contrib.FusedConvConfig{Activation: "Clip", Params: []float32{0, 6}, AutoPad: "SAME_UPPER"}, In: in(x(1, 1, 2, 4, 5), x(2, 3, 2, 3, 3))}},
		{Case: optest.Case{Name: "FusedConv hard", Config: contrib.FusedConvConfig{Activation: "HardSigmoid", Params: []float32{0.15, 0.45}}, In: in(x(1, 1, 2, 4, 5), x(2, 3, 2, 2, 2))}},
		{Case: optest.Case{Name: "FusedConv tanh", Config: contrib.FusedConvConfig{Activation: "Tanh"}, In: in(x(1, 1, 2, 7), x(2, 3, 2, 3))}},
		{Case: optest.Case{Name: "NhwcFusedConv", Config: contrib.NhwcFusedConvConfig{Activation: "Relu"}, In: in(x(1, 1, 5, 6, 3), x(2, 4, 3, 3, 2), x(3, 4), x(4, 1, 3, 5, 4))}, gpu: true},

		{Case: optest.Case{Name: "LayerNormalization", Config: contrib.LayerNormalizationConfig{Axis: pointer(1), Epsilon: pointer[float32](1e-3)}, In: in(x(1, 2, 3, 4), x(2, 3, 4), x(3, 3, 4))}, gpu: true},
		{Case: optest.Case{Name: "SimplifiedLayerNormalization", Config: contrib.SimplifiedLayerNormalizationConfig{Epsilon: pointer[float32](1e-3)}, In: in(x(1, 2, 3, 4), x(2, 4))}},
		{Case: optest.Case{Name: "SimplifiedLayerNormalization outputs", Config: contrib.SimplifiedLayerNormalizationConfig{Axis: pointer(-1)}, In: in(x(1, 2, 3, 4), x(2, 4)), Outputs: 2}},
		{Case: optest.Case{Name: "SkipLayerNormalization", Config: contrib.SkipLayerNormalizationConfig{Epsilon: pointer[float32](1e-3)}, In: in(x(1, 2, 3, 4), x(2, 2, 3, 4), x(3, 4), x(4, 4))}},
		{Case: optest.Case{Name: "SkipLayerNormalization all", Config: contrib.SkipLayerNormalizationConfig{}, In: in(x(1, 2, 3, 4), x(2, 2, 3, 4), x(3, 4), x(4, 4), x(5, 4)), Outputs: 4, Skip: []int{1, 2}}},
		{Case: optest.Case{Name: "SkipLayerNormalization spread", Config: contrib.SkipLayerNormalizationConfig{}, In: in(x(1, 2, 3, 4), x(2, 1, 3, 4), x(3, 4))}},
		{Case: optest.Case{Name: "SkipSimplifiedLayerNormalization", Config: contrib.SkipSimplifiedLayerNormalizationConfig{Epsilon: pointer[float32](1e-2)}, In: in(x(1, 2, 3, 4), x(2, 2, 3, 4), x(3, 4))}},
		{Case: optest.Case{Name: "SkipSimplifiedLayerNormalization all", Config: contrib.SkipSimplifiedLayerNormalizationConfig{}, In: in(x(1, 2, 3, 4), x(2, 2, 3, 4), x(3, 4), x(4, 4)), Outputs: 4, Skip: []int{1, 2}}},
		{Case: optest.Case{Name: "GroupNorm", Config: contrib.GroupNormConfig{Groups: 2, Activation: 1}, In: in(x(1, 2, 3, 2, 4), x(2, 4), x(3, 4))}, gpu: true},
		{Case: optest.Case{Name: "GroupNorm channels", Config: contrib.GroupNormConfig{Groups: 2, ChannelsLast: new(bool)}, In: in(x(1, 2, 4, 3, 2), x(2, 4), x(3, 4))}, gpu: true},
		{Case: optest.Case{Name: "SkipGroupNorm", Config: contrib.SkipGroupNormConfig{Groups: 2}, In: in(x(1, 2, 3, 2, 4), x(2, 4), x(3, 4), x(4, 2, 4), x(5, 4)), Outputs: 2}, gpu: true},
	}
}

func plain(name string) op.Config { return op.Name{Domain: contrib.Domain, Name: name} }

// TestUses takes every use through the checks of operators, with the values that ONNX Runtime computed where it can.
func TestUses(t *testing.T) {
	golden := readGolden[expected](t, goldenFile)
	for _, u := range uses() {
		u.Ops = set(t)
		if want := golden[u.Name]; !u.gpu && !*update {
			if len(want) == 0 {
				t.Errorf("%s has no expected values: go test -update", u.Name)
			}
			for _, w := range want {
				d, err := w.dense()
				if err != nil {
					t.Fatal(err)
				}
				if d == nil {
					u.Want = append(u.Want, nil)
					continue
				}
				u.Want = append(u.Want, d)
			}
		}
		u.NoCut = "standard operators' couplings are tested with them"
		optest.Run(t, u.Case)
	}
}

// expected is an output as testdata/golden.json has it; one without a name has no shape.
type expected struct {
	Shape []int     `json:"shape"`
	Data  []float32 `json:"data"`
}

func (x expected) dense() (*tensor.Dense, error) {
	if x.Shape == nil {
		return nil, nil
	}
	return dtype.FromSlice(x.Data, x.Shape...)
}

const goldenFile = "testdata/golden.json"

func readGolden[T any](t *testing.T, file string) map[string][]T {
	t.Helper()
	golden := map[string][]T{}
	b, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(b, &golden)
	}
	if err != nil && !*update {
		t.Fatal(err)
	}
	return golden
}

// TestInRuntime compares with ONNX Runtime itself, and with -update writes what it computes to testdata/golden.json.
func TestInRuntime(t *testing.T) {
	ort := oracle.ORT(t)
	golden := map[string][]expected{}
	for _, u := range uses() {
		if u.gpu {
			continue
		}
		g := graphOf(t, u)
		feed, in := nn.Feed{}, map[string]oracle.Tensor{}
		for i, v := range u.In {
			if v != nil {
				name := fmt.Sprintf("x%d", i)
				d := v.(*tensor.Dense)
				feed[name], in[name] = v, oracle.Tensor{DType: dtype.Of(d.Dtype()).String(), Shape: d.Shape(), Data: dtype.Bytes(d)}
			}
		}
		file := filepath.Join(t.TempDir(), "model.onnx")
		if err := onnxio.Save(file, g); err != nil {
			t.Fatal(err)
		}
		again, err := onnxio.Load(file)
		if err != nil {
			t.Fatal(err)
		}
		got, err := again.Eval(t.Context(), feed)
		if err != nil {
			t.Errorf("%s: %v", u.Name, err)
			continue
		}
		want, err := ort.RunFile(file, in)
		if err != nil {
			t.Errorf("%s: %v", u.Name, err)
			continue
		}
		for i := range max(u.Outputs, 1) {
			name := fmt.Sprintf("y%d", i)
			w, ok := want[name]
			if !ok {
				golden[u.Name] = append(golden[u.Name], expected{})
				continue
			}
			d := got[name].(*tensor.Dense)
			if err := oracle.Close(oracle.Tensor{DType: w.DType, Shape: append([]int{}, d.Shape()...), Data: dtype.Bytes(d)}, w, 1e-4, 1e-5); err != nil {
				t.Errorf("%s: output %d: %v", u.Name, i, err)
			}
			golden[u.Name] = append(golden[u.Name], expected{w.Shape, floats(t, w)})
		}
	}
	if *update {
		b, err := json.Marshal(golden)
		if err == nil {
			b = []byte(strings.ReplaceAll(string(b), `"],"`, "\"],\n\""))
			err = os.WriteFile(goldenFile, append(b, '\n'), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func floats(t *testing.T, x oracle.Tensor) []float32 {
	t.Helper()
	d := dtype.New(dtype.Float32, x.Shape...)
	if copy(dtype.Bytes(d), x.Data) != len(x.Data) {
		t.Fatal("an output is no float32")
	}
	return dtype.Slice[float32](d)
}

// graphOf returns a graph of one node with inputs x0, x1 … and outputs y0, y1 ….
func graphOf(t *testing.T, u use) *nn.Graph {
	t.Helper()
	g := nn.NewGraph("one", set(t), map[string]int{"": 17, contrib.Domain: 1, "com.microsoft.nchwc": 1})
	err := g.Edit(func(e *nn.Edit) {
		var in []*nn.Value
		for i, v := range u.In {
			if v == nil {
				in = append(in, nil)
				continue
			}
			in = append(in, e.Input(fmt.Sprintf("x%d", i), op.TypeOf(v).String()))
		}
		n := e.NodeN(u.Config, max(u.Outputs, 1), in...)
		if e.Err() != nil {
			return
		}
		for i, v := range n.Outputs() {
			skipped := false
			for _, s := range u.Skip {
				skipped = skipped || s == i
			}
			if !skipped && v != nil {
				e.Output(fmt.Sprintf("y%d", i), v)
			}
		}
	})
	if err != nil {
		t.Fatalf("%s: %v", u.Name, err)
	}
	return g
}

// The package is written against the exported API alone, as one outside of this module is.
func TestImports(t *testing.T) {
	p, err := build.ImportDir(".", 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range p.Imports {
		if strings.Contains(path, "internal/") {
			t.Errorf("imports %s", path)
		}
	}
}

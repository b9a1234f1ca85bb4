package train_test

import (
	"context"
	"fmt"
	"math"
	"path/filepath"
	"testing"

	"github.com/graft-ml/graft/internal/oracle"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/onnxio"
	"github.com/graft-ml/graft/optim"
	"github.com/graft-ml/graft/train"
	"github.com/graft-ml/graft/train/data"
	"gorgonia.org/tensor"
)

const goldenDir = "../testdata/torch"

// dense makes a tensor of an oracle's array, floating-point numbers converted to t.
func dense(t testing.TB, a oracle.Tensor, float dtype.DType) *tensor.Dense {
	t.Helper()
	kind, err := dtype.Parse(a.DType)
	if err != nil {
		t.Fatal(err)
	}
	d := dtype.New(kind, a.Shape...)
	copy(dtype.Bytes(d), a.Data)
	if kind.IsFloat() {
		if d, err = dtype.ConvertTo(float, d); err != nil {
			t.Fatal(err)
		}
	}
	return d
}

// row returns a[i].
func row(a oracle.Tensor, i int) oracle.Tensor {
	n := len(a.Data) / a.Shape[0]
	return oracle.Tensor{DType: a.DType, Shape: a.Shape[1:], Data: a.Data[i*n : (i+1)*n]}
}

func floats(t testing.TB, a oracle.Tensor) []float64 {
	t.Helper()
	x, err := a.Float64s()
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// distance is |a − b| relative to |b|, in the Euclidean norm.
func distance(t testing.TB, got *tensor.Dense, want []float64) float64 {
	t.Helper()
	x, err := dtype.Float64s(got)
	if err != nil {
		t.Fatal(err)
	}
	if len(x) != len(want) {
		t.Fatalf("%d elements, want %d", len(x), len(want))
	}
	var d, n float64
	for i := range x {
		d += (x[i] - want[i]) * (x[i] - want[i])
		n += want[i] * want[i]
	}
	return math.Sqrt(d) / math.Max(math.Sqrt(n), 1e-12)
}

// widen returns a float32 model as one of float64.
func widen(t testing.TB, g *nn.Graph) *nn.Graph {
	t.Helper()
	wide := func(v dtype.Value) dtype.Value {
		d, ok := v.(*tensor.Dense)
		if !ok || dtype.Of(d.Dtype()) != dtype.Float32 {
			return v
		}
		d, err := dtype.ConvertTo(dtype.Float64, d)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	to := nn.NewGraph(g.Name(), g.Ops(), g.Opsets())
	a := nn.Assemble(to)
	for _, v := range g.Inputs() {
		typ := v.Type()
		if typ.DType == dtype.Float32 {
			typ = typ.Of(dtype.Float64)
		}
		a.Input(v.Name(), typ, nil)
	}
	for p := range g.Params() {
		a.Param(p.Name(), wide(p.Tensor()), nil)
	}
	names := func(vs []*nn.Value) []string {
		list := make([]string, len(vs))
		for i, v := range vs {
			list[i] = v.Name()
		}
		return list
	}
	for n := range g.Nodes() {
		attrs := map[string]any{}
		for _, x := range op.Encode(n.Op().Version(g.Opsets()[""]), n.Config()) {
			attrs[x.Name] = x.Value
			if v, ok := x.Value.(dtype.Value); ok {
				attrs[x.Name] = wide(v)
			}
		}
		a.Node(nn.NodeSpec{Name: n.Name(), Type: n.Type(), Attrs: attrs, In: names(n.Inputs()), Out: names(n.Outputs())})
	}
	if err := a.Finish(); err != nil {
		t.Fatal(err)
	}
	for _, v := range g.Outputs() {
		a.Output(v.Name(), op.Type{Unranked: true, DType: dtype.Float64}, nil)
	}
	to, err := a.Graph()
	if err != nil {
		t.Fatal(err)
	}
	return to
}

// TestTrajectories compares ten steps of three networks and three rules with PyTorch's, step by step.
func TestTrajectories(t *testing.T) {
	rules := map[string]optim.Rule{
		"sgd":   optim.SGD{LR: 0.05, Momentum: 0.9},
		"adam":  optim.Adam{LR: 0.01},
		"adamw": optim.AdamW{LR: 0.01, WeightDecay: 0.1},
	}
	losses := map[string]train.Loss{"mlp": train.MSE{}, "convbn": train.CrossEntropy{}, "lstm": nil}
	for _, net := range []string{"mlp", "convbn", "lstm"} {
		for _, float := range []dtype.DType{dtype.Float32, dtype.Float64} {
			arrays, err := oracle.NPZ(filepath.Join(goldenDir, fmt.Sprintf("%s.%v.npz", net, float)))
			if err != nil {
				t.Fatal(err)
			}
			for name, rule := range rules {
				t.Run(fmt.Sprintf("%s/%v/%s", net, float, name), func(t *testing.T) {
					trajectory(t, net, float, name, arrays, train.Config{Rule: rule, Loss: losses[net]})
				})
			}
		}
	}
}

func trajectory(t *testing.T, net string, float dtype.DType, name string, arrays map[string]oracle.Tensor, c train.Config) {
	// Float32 runs differ from float64 ones by up to 2e-6 in the files' own measure.
	tol := 2e-5
	if float == dtype.Float64 {
		tol = 1e-9 // the file's epsilon and momentum are float32 numbers in both
	}
	g, err := onnxio.Load(filepath.Join(goldenDir, net+".onnx"))
	if err != nil {
		t.Fatal(err)
	}
	if float == dtype.Float64 {
		g = widen(t, g)
	}
	tr, err := train.New(g, c)
	if err != nil {
		t.Fatal(err)
	}
	losses := floats(t, arrays[name+"/loss"])
	for k, want := range losses {
		b := data.Sample{
			X: []*tensor.Dense{dense(t, row(arrays["input"], k), float)},
			Y: []*tensor.Dense{dense(t, row(arrays["target"], k), float)},
		}
		info, err := tr.Step(context.Background(), b)
		if err != nil {
			t.Fatal(err)
		}
		if math.Abs(info.Loss-want) > tol*math.Max(1, want) {
			t.Fatalf("step %d: loss %.12g, want %.12g", k, info.Loss, want)
		}
		for p := range g.Params() {
			if a, ok := arrays[name+"/buffer/"+p.Name()+"_population"]; ok {
				if d := distance(t, p.Data(), floats(t, row(a, k))); d > tol {
					t.Errorf("step %d: %s is off by %.3g", k, p.Name(), d)
				}
			} else if a, ok := arrays[name+"/buffer/"+p.Name()]; ok {
				if d := distance(t, p.Data(), floats(t, row(a, k))); d > tol {
					t.Errorf("step %d: %s is off by %.3g", k, p.Name(), d)
				}
			}
		}
	}
	seen := 0
	for p := range g.Params() {
		if a, ok := arrays[name+"/param/"+p.Name()]; ok {
			seen++
			if d := distance(t, p.Data(), floats(t, a)); d > tol {
				t.Errorf("after ten steps %s is off by %.3g", p.Name(), d)
			}
		}
	}
	if seen == 0 {
		t.Error("no parameter was compared")
	}
}

package mutate_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/graft-ml/graft/internal/oracle"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/layers"
	"github.com/graft-ml/graft/nn/mutate"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/onnxio"
	"gorgonia.org/tensor"
)

// nets are small networks of the kinds that searches begin with.
var nets = map[string]func(e *nn.Edit){
	"chain": func(e *nn.Edit) {
		x := e.Input("x", "float32[N,3,8,8]")
		e.Output("y", e.Apply(nn.Sequential{
			layers.Conv{Out: 8, Kernel: []int{3}, Same: true}, layers.BatchNorm{}, layers.ReLU{}, layers.MaxPool{Kernel: []int{2}},
			layers.Conv{Out: 12, Kernel: []int{3}, Same: true}, layers.SiLU{}, layers.GlobalAvgPool{}, layers.Flatten{},
			layers.Linear{Out: 9}, layers.ReLU{}, layers.Dropout{P: 0.1}, layers.Linear{Out: 4}, layers.Softmax{},
		}, x))
	},
	"residual": func(e *nn.Edit) {
		x := e.Apply(layers.Conv{Out: 8, Kernel: []int{3}, Same: true}, e.Input("x", "float32[N,3,8,8]"))
		for range 2 {
			x = e.Apply(layers.Residual{Body: nn.Sequential{layers.Conv{Out: 5, Kernel: []int{1}}, layers.BatchNorm{}, layers.ReLU{}, layers.Conv{Out: 8, Kernel: []int{3}, Same: true}}}, x)
			x = e.Apply(layers.ReLU{}, x)
		}
		gate := e.Apply(nn.Sequential{layers.GlobalAvgPool{}, layers.Conv{Kernel: []int{1}}, layers.Sigmoid{}}, x)
		x = e.Node(op.Plain("Mul"), x, gate).Out(0)
		e.Output("y", e.Apply(nn.Sequential{layers.Flatten{}, layers.Linear{Out: 4}}, x))
	},
	"branches": func(e *nn.Edit) {
		x := e.Apply(layers.Conv{Out: 6, Kernel: []int{3}, Same: true}, e.Input("x", "float32[N,2,9,7]"))
		for range 2 {
			x = e.Apply(layers.Parallel{Branches: []nn.Layer{
				layers.Conv{Out: 4, Kernel: []int{1}}, nn.Sequential{layers.Conv{Out: 6, Kernel: []int{3}, Same: true, Group: 2}, layers.PReLU{}},
				layers.MaxPool{Kernel: []int{3}, Stride: []int{1}, Pad: []int{1}},
			}}, x)
		}
		e.Output("z", e.Apply(layers.Conv{Out: 2, Kernel: []int{1}}, x))
		e.Output("y", e.Apply(nn.Sequential{layers.Conv{Out: 3, Kernel: []int{3}, Stride: []int{2}}, layers.ConvTranspose{Out: 2, Kernel: []int{2}, Stride: []int{2}}}, x))
	},
	"mlp": func(e *nn.Edit) {
		x := e.Input("x", "float32[N,T,6]")
		y := e.Apply(nn.Sequential{layers.Linear{Out: 10}, layers.GELU{}, layers.Linear{Out: 6}}, x)
		y = e.Node(op.Plain("Add"), x, y).Out(0)
		e.Output("y", e.Apply(nn.Sequential{layers.Linear{Out: 8}, layers.Tanh{}, layers.Linear{Out: 3}}, y))
	},
}

func build(t *testing.T, f func(e *nn.Edit)) *nn.Graph {
	t.Helper()
	g := nn.New("net")
	if err := g.Edit(f); err != nil {
		t.Fatal(err)
	}
	return g
}

// draw fills tensors for the inputs of a graph, open dimensions at the given batch or 5.
func draw(t *testing.T, g *nn.Graph, batch int) []*tensor.Dense {
	t.Helper()
	r := rand.New(rand.NewPCG(1, 2))
	var list []*tensor.Dense
	for _, v := range g.Inputs() {
		shape := v.Type().Sizes()
		n := 1
		for i, d := range shape {
			if d < 1 {
				shape[i] = 5
				if i == 0 {
					shape[i] = batch
				}
			}
			n *= shape[i]
		}
		x := make([]float64, n)
		for i := range x {
			x[i] = 2*r.Float64() - 1
			if v.Type().DType.IsInteger() {
				x[i] = float64(r.IntN(2))
			}
		}
		d, err := dtype.FromFloats(v.Type().DType, x, shape...)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, d)
	}
	return list
}

func run(t *testing.T, g *nn.Graph, batch int) []*tensor.Dense {
	t.Helper()
	out, err := g.Run(context.Background(), draw(t, g, batch)...)
	if err != nil {
		t.Fatalf("%v\n%v", err, g.Summary())
	}
	return out
}

// apart returns the largest difference of two results, relative to the largest number.
func apart(t *testing.T, got, want *tensor.Dense) float64 {
	t.Helper()
	if !got.Shape().Eq(want.Shape()) {
		t.Fatalf("shape %v, want %v", got.Shape(), want.Shape())
	}
	a, err := dtype.Float64s(got)
	if err != nil {
		t.Fatal(err)
	}
	b, err := dtype.Float64s(want)
	if err != nil {
		t.Fatal(err)
	}
	most, scale := 0.0, 1e-6
	for i := range a {
		most, scale = max(most, math.Abs(a[i]-b[i])), max(scale, math.Abs(b[i]))
		if a[i] != a[i] {
			t.Fatal("not a number")
		}
	}
	return most / scale
}

// shapes returns the shapes of results.
func shapes(list []*tensor.Dense) string {
	s := ""
	for _, d := range list {
		s += fmt.Sprint(d.Shape())
	}
	return s
}

// TestMutants walks from every net through random mutations: each mutant holds, runs at two batch
// sizes and keeps the shapes of its outputs.
func TestMutants(t *testing.T) {
	for name, f := range nets {
		t.Run(name, func(t *testing.T) {
			made := map[mutate.Kind]int{}
			for seed := range uint64(10) {
				g := build(t, f)
				want := [2]string{shapes(run(t, g, 1)), shapes(run(t, g, 3))}
				m := mutate.Mutator{Seed: seed}
				for step := range 10 {
					p, done, err := m.Plan(g, step)
					if err != nil {
						t.Fatalf("seed %d, step %d: %v\n%v", seed, step, err, g.Summary())
					}
					if err := p.Apply(); err != nil {
						t.Fatal(err)
					}
					if err := g.Check(); err != nil {
						t.Fatalf("seed %d, step %d, %v: %v", seed, step, done, err)
					}
					made[done.Kind]++
					i := step % 2 // one batch size or the other
					if got := shapes(run(t, g, 1+2*i)); got != want[i] {
						t.Fatalf("seed %d, step %d, %v: shapes %s, want %s\n%v", seed, step, done, got, want[i], p)
					}
				}
			}
			t.Log(made)
		})
	}
}

// TestMutantsInRuntime saves mutants and runs the files in ONNX Runtime.
func TestMutantsInRuntime(t *testing.T) {
	ort := oracle.ORT(t)
	for name, f := range nets {
		for seed := range uint64(3) {
			t.Run(fmt.Sprint(name, seed), func(t *testing.T) {
				g := build(t, f)
				done, err := mutate.Mutator{Seed: 100 + seed}.Apply(g, 12)
				if err != nil {
					t.Fatal(err)
				}
				t.Log(done)
				inRuntime(t, ort, g)
			})
		}
	}
}

// inRuntime compares a graph with ONNX Runtime at two batch sizes.
func inRuntime(t *testing.T, ort *oracle.Runtime, g *nn.Graph) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "m.onnx")
	if err := onnxio.Save(file, g); err != nil {
		t.Fatal(err)
	}
	for _, batch := range []int{1, 3} {
		in := map[string]oracle.Tensor{}
		for i, x := range draw(t, g, batch) {
			in[g.Inputs()[i].Name()] = oracle.Tensor{DType: dtype.Of(x.Dtype()).String(), Shape: append([]int{}, x.Shape()...), Data: dtype.Bytes(x)}
		}
		out, err := ort.RunFile(file, in)
		if err != nil {
			t.Fatalf("%v\n%v", err, g.Summary())
		}
		for i, got := range run(t, g, batch) {
			w, err := out[g.Outputs()[i].Name()].Float64s()
			if err != nil {
				t.Fatal(err)
			}
			d, err := dtype.FromFloats(dtype.Float64, w, got.Shape()...)
			if err != nil {
				t.Fatal(err)
			}
			if far := apart(t, got, d); far > 1e-4 {
				t.Errorf("batch %d: differs by %g\n%v", batch, far, g.Summary())
			}
		}
	}
}

// TestKeeping makes the mutations that promise to leave what a model computes.
func TestKeeping(t *testing.T) {
	for name, f := range nets {
		t.Run(name, func(t *testing.T) {
			for seed := range uint64(4) {
				g := build(t, f)
				want := run(t, g, 2)
				m := mutate.Mutator{Seed: seed, Weights: map[mutate.Kind]float64{mutate.Widen: 2, mutate.Deepen: 1}}
				done, err := m.Apply(g, 4)
				if err != nil {
					t.Fatal(err)
				}
				for i, got := range run(t, g, 2) {
					if far := apart(t, got, want[i]); far > 1e-5 {
						t.Errorf("seed %d, output %d differs by %g after %v", seed, i, far, done)
					}
				}
			}
		})
	}
}

// TestSameSeed makes the same mutants twice, to the byte.
func TestSameSeed(t *testing.T) {
	var first string
	for range 2 {
		g := build(t, nets["branches"])
		if _, err := (mutate.Mutator{Seed: 5}).Apply(g, 12); err != nil {
			t.Fatal(err)
		}
		if got := saved(t, g); first == "" {
			first = got
		} else if first != got {
			t.Error("the same seed gives another model")
		}
	}
	a, b := build(t, nets["chain"]), build(t, nets["chain"])
	da, err := mutate.Mutator{Seed: 1}.Apply(a, 6)
	if err != nil {
		t.Fatal(err)
	}
	db, err := mutate.Mutator{Seed: 2}.Apply(b, 6)
	if err != nil {
		t.Fatal(err)
	}
	if reflect.DeepEqual(da, db) {
		t.Error("another seed gives the same mutations")
	}
}

// TestUndo takes mutations back: the model is saved as it was, to the byte.
func TestUndo(t *testing.T) {
	for name, f := range nets {
		g := build(t, f)
		before := saved(t, g)
		for seed := range uint64(6) {
			p, done, err := mutate.Mutator{Seed: 50 + seed}.Plan(g, 0)
			if err != nil {
				t.Fatal(err)
			}
			if saved(t, g) != before {
				t.Fatalf("%s: planning to %v changed the model", name, done)
			}
			if err := p.Apply(); err != nil {
				t.Fatal(err)
			}
			if err := p.Undo(); err != nil {
				t.Fatal(err)
			}
			if saved(t, g) != before {
				t.Fatalf("%s: taking back %v left something", name, done)
			}
		}
	}
}

func saved(t *testing.T, g *nn.Graph) string {
	t.Helper()
	var b strings.Builder
	if err := onnxio.Write(&b, g); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestSettings looks at what is kept, bounded and refused.
func TestSettings(t *testing.T) {
	g := build(t, nets["chain"])
	m := mutate.Mutator{Seed: 3, Weights: map[mutate.Kind]float64{mutate.Activation: 1}, Activations: []nn.Layer{layers.Sigmoid{}}, Keep: []nn.Selector{nn.Ops("Mul")}}
	if _, err := m.Apply(g, 2); err != nil {
		t.Fatal(err)
	}
	var kinds []string
	for n := range g.Nodes(nn.Ops("Relu", "Sigmoid", "Mul")) {
		kinds = append(kinds, n.Type())
	}
	if want := []string{"Sigmoid", "Sigmoid", "Mul", "Sigmoid"}; !slices.Equal(kinds, want) {
		t.Errorf("has %v, want %v", kinds, want)
	}
	m = mutate.Mutator{Weights: map[mutate.Kind]float64{mutate.Widen: 1}, MaxParams: 10}
	if p, _, err := m.Plan(g, 0); err == nil || !strings.Contains(err.Error(), "at most 10 are allowed") {
		t.Error(err, p)
	}
	m = mutate.Mutator{Weights: map[mutate.Kind]float64{mutate.RemoveEdge: 1}}
	line := build(t, func(e *nn.Edit) { e.Output("y", e.Apply(layers.Linear{Out: 2}, e.Input("x", "float32[N,3]"))) })
	if _, _, err := m.Plan(line, 0); err == nil || !strings.Contains(err.Error(), "no mutation is possible") {
		t.Error(err)
	}
	for want, m := range map[string]mutate.Mutator{
		`no kind "grow"`:   {Weights: map[mutate.Kind]float64{"grow": 1}},
		"weight of widen":  {Weights: map[mutate.Kind]float64{mutate.Widen: -1}},
		"weights are zero": {Weights: map[mutate.Kind]float64{}},
		"a step of":        {Step: -1},
		"a step of NaN":    {Step: math.NaN()},
		"MaxParams is -1":  {MaxParams: -1},
		"a kernel of 1000": {Kernels: []int{1000}},
	} {
		if _, _, err := m.Plan(g, 0); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

// TestMutateModels mutates real models and runs the results in ONNX Runtime.
func TestMutateModels(t *testing.T) {
	ort := oracle.ORT(t)
	for _, name := range []string{"mnist-bn-cnn", "traffic-sign", "torch-mlp", "torch-unet", "torch-resnet-mini", "torch-bert-mini", "iris-mlp", "resnet-stem", "squeezenet1.1"} {
		t.Run(name, func(t *testing.T) {
			g, err := onnxio.Load(oracle.Shared(t, "models", name, "model.onnx"))
			if err != nil {
				t.Fatal(err)
			}
			want := shapes(run(t, g, 2))
			done, err := mutate.Mutator{Seed: 7}.Apply(g, 6)
			if err != nil {
				t.Fatal(err)
			}
			t.Log(done)
			if err := g.Check(); err != nil {
				t.Fatal(err)
			}
			if got := shapes(run(t, g, 2)); got != want {
				t.Errorf("shapes %s, want %s", got, want)
			}
			inRuntime(t, ort, g)
		})
	}
}

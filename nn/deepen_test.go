package nn_test

import (
	"context"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/graft-ml/graft/internal/nntest"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/layers"
	"github.com/graft-ml/graft/nn/op"
	"gorgonia.org/tensor"
)

// deep is a convolution net with a value that is never negative, one that is anything, and a matrix.
func deep(e *nn.Edit) {
	y := e.Apply(nn.Sequential{conv(6, 3, "a"), layers.ReLU{Name: "act"}, layers.MaxPool{Kernel: []int{2}, Name: "pool"}, conv(4, 3, "b"), layers.Flatten{Name: "flat"}}, input(e))
	y = e.Apply(nn.Sequential{layers.Linear{Out: 7, Name: "fc"}, layers.Sigmoid{Name: "gate"}}, y)
	e.Output("y", e.Apply(layers.Linear{Out: 3, Name: "out"}, y))
}

func activation(name string) nn.Layer { return nn.OpLayer{Config: op.Plain(name)} }

var deepenings = []struct {
	name string
	at   string
	d    nn.Deepening
	adds []string // operators, in order
	tol  float64  // 0: 1e-6
	err  string
}{
	{name: "zero value behind ReLU", at: "act", adds: []string{"Conv", "Relu"}},
	{name: "through a pool", at: "pool", adds: []string{"Conv", "Relu"}},
	{name: "zero value where numbers may be negative", at: "b", adds: []string{"Conv"}},
	{name: "matrix", at: "gate", adds: []string{"Gemm", "Relu"}},
	{name: "normalized", at: "act", d: nn.Deepening{Layer: layers.Fitting{}, Norm: layers.BatchNorm{}}, adds: []string{"Conv", "BatchNormalization", "Relu"}},
	{name: "kernel and dilation", at: "act", d: nn.Deepening{Layer: layers.Conv{Kernel: []int{3, 5}, Dilation: []int{2}}}, adds: []string{"Conv", "Relu"}},
	{name: "even kernel", at: "act", d: nn.Deepening{Layer: layers.Conv{Kernel: []int{2}}}, adds: []string{"Conv", "Relu"}},
	{name: "depthwise", at: "act", d: nn.Deepening{Layer: layers.Conv{Kernel: []int{3}, Group: 6, NoBias: true}}, adds: []string{"Conv", "Relu"}},
	{name: "LeakyReLU behind ReLU", at: "act", d: nn.Deepening{Layer: layers.Fitting{}, Activation: layers.LeakyReLU{}}, adds: []string{"Conv", "LeakyRelu"}},
	{name: "ELU behind a sigmoid", at: "gate", d: nn.Deepening{Layer: layers.Fitting{}, Activation: layers.ELU{}}, adds: []string{"Gemm", "Elu"}},
	{name: "refused", at: "b", d: nn.Deepening{Layer: layers.Fitting{}, Activation: layers.ReLU{}}, err: "ReLU after b would change what the model computes: Near allows"},
	{name: "refused GELU", at: "act", d: nn.Deepening{Layer: layers.Fitting{}, Activation: layers.GELU{}}, err: "GELU after act would change"},
	{name: "ReLU by two layers", at: "b", d: nn.Deepening{Layer: layers.Fitting{}, Activation: layers.ReLU{}, Near: true}, adds: []string{"Conv", "Relu", "Conv"}},
	{name: "ReLU by two layers in groups", at: "b", d: nn.Deepening{Layer: layers.Conv{Kernel: []int{3}, Group: 2}, Activation: layers.ReLU{}, Near: true}, adds: []string{"Conv", "Relu", "Conv"}},
	{name: "GELU by two layers", at: "act", d: nn.Deepening{Layer: layers.Fitting{}, Activation: layers.GELU{}, Near: true}, adds: []string{"Conv", "Gelu", "Conv"}},
	{name: "SiLU by two matrices", at: "fc", d: nn.Deepening{Layer: layers.Fitting{}, Activation: layers.SiLU{}, Near: true}, adds: []string{"Gemm", "Sigmoid", "Mul", "Gemm"}},
	{name: "HardSwish by two layers", at: "fc", d: nn.Deepening{Layer: layers.Fitting{}, Activation: activation("HardSwish"), Near: true}, adds: []string{"Gemm", "HardSwish", "Gemm"}},
	{name: "Softplus by two layers", at: "fc", d: nn.Deepening{Layer: layers.Fitting{}, Activation: activation("Softplus"), Near: true}, adds: []string{"Gemm", "Softplus", "Gemm"}},
	{name: "LeakyReLU by two layers", at: "fc", d: nn.Deepening{Layer: layers.Fitting{}, Activation: layers.LeakyReLU{Slope: 0.2}, Near: true}, adds: []string{"Gemm", "LeakyRelu", "Gemm"}},
	{name: "PReLU by two layers", at: "b", d: nn.Deepening{Layer: layers.Fitting{}, Activation: layers.PReLU{}, Near: true}, adds: []string{"Conv", "PRelu", "Conv"}},
	{name: "Tanh nearly", at: "b", d: nn.Deepening{Layer: layers.Fitting{}, Activation: layers.Tanh{}, Near: true}, adds: []string{"Conv", "Tanh", "Conv"}, tol: 1e-4},
	{name: "Sigmoid nearly", at: "fc", d: nn.Deepening{Layer: layers.Fitting{}, Activation: layers.Sigmoid{}, Near: true}, adds: []string{"Gemm", "Sigmoid", "Gemm"}, tol: 1e-4},
	{name: "no way", at: "b", d: nn.Deepening{Layer: layers.Fitting{}, Activation: layers.ELU{}, Near: true}, err: "ELU cannot start as the identity"},
	{name: "a stride", at: "act", d: nn.Deepening{Layer: layers.Conv{Kernel: []int{3}, Stride: []int{2}}}, err: "the added layer must keep the shape"},
	{name: "no pair of this", at: "b", d: nn.Deepening{Layer: layers.BatchNorm{}, Activation: layers.ReLU{}, Near: true}, err: "BatchNorm cannot be made twice as wide"},
}

func TestDeepen(t *testing.T) {
	for _, c := range deepenings {
		t.Run(c.name, func(t *testing.T) {
			g := model(t, deep)
			before := nntest.Dump(g)
			was := types(g)
			in, want := runDrawn(t, g)
			if c.d.Layer == nil {
				c.d.Layer = layers.Fitting{}
			}
			p, err := g.Plan(func(e *nn.Edit) { e.Deepen(e.Value(c.at), c.d) })
			if c.err != "" {
				if err == nil || !strings.Contains(err.Error(), c.err) {
					t.Fatalf("got %v, want %q", err, c.err)
				}
				if nntest.Dump(g) != before {
					t.Fatal("the graph changed")
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if err := p.Apply(); err != nil {
				t.Fatal(err)
			}
			got, err := g.Run(context.Background(), in...)
			if err != nil {
				t.Fatal(err)
			}
			tol := c.tol
			if tol == 0 {
				tol = 1e-6
			}
			if err := agree(got[0], want[0], tol); err != nil {
				t.Error(err)
			}
			if added := strings.Join(fresh(g, was), " "); added != strings.Join(c.adds, " ") {
				t.Errorf("adds %s, want %v", added, c.adds)
			}
			if err := p.Undo(); err != nil || nntest.Dump(g) != before {
				t.Error("undo does not give the graph back", err)
			}
		})
	}
}

// types returns the nodes of a graph.
func types(g *nn.Graph) map[*nn.Node]bool {
	set := map[*nn.Node]bool{}
	for n := range g.Nodes() {
		set[n] = true
	}
	return set
}

// fresh returns the operators of nodes that were not there.
func fresh(g *nn.Graph, was map[*nn.Node]bool) []string {
	var list []string
	for n := range g.Nodes() {
		if !was[n] {
			list = append(list, n.Type())
		}
	}
	return list
}

// runDrawn runs a graph on random input.
func runDrawn(t *testing.T, g *nn.Graph) (in, out []*tensor.Dense) {
	t.Helper()
	in, err := draw(g, 2, 5, rand.New(rand.NewPCG(1, 2)))
	if err != nil {
		t.Fatal(err)
	}
	if out, err = g.Run(context.Background(), in...); err != nil {
		t.Fatal(err)
	}
	return in, out
}

// TestDeepenLearns takes a gradient through layers that start as the identity: none may be dead.
func TestDeepenLearns(t *testing.T) {
	g := model(t, deep)
	nntest.Edit(t, g, func(e *nn.Edit) {
		e.Deepen(e.Value("act"), nn.Deepening{Layer: layers.Conv{Kernel: []int{3}, Name: "d1"}})
		e.Deepen(e.Value("b"), nn.Deepening{Layer: layers.Conv{Kernel: []int{3}, Name: "d2"}, Activation: layers.ReLU{}, Near: true})
	})
	g2 := nntest.Clone(t, g)
	nntest.Edit(t, g2, func(e *nn.Edit) {
		e.Output("loss", e.Node(op.Plain("ReduceSum"), e.Value("y")).Out(0))
	})
	in, err := draw(g, 2, 5, rand.New(rand.NewPCG(1, 2)))
	if err != nil {
		t.Fatal(err)
	}
	grads, err := g2.Grad(context.Background(), nn.Feed{"x": in[0]}, "loss", "d1.weight", "d2.weight")
	if err != nil {
		t.Fatal(err)
	}
	for name, v := range grads {
		x, err := dtype.Float64s(v.(*tensor.Dense))
		if err != nil {
			t.Fatal(err)
		}
		some := 0
		for _, d := range x {
			if d != 0 {
				some++
			}
		}
		if some < len(x)/2 {
			t.Errorf("%s: %d of %d elements have a gradient", name, some, len(x))
		}
	}
}

// TestWiden widens by a factor, through what hangs together.
func TestWiden(t *testing.T) {
	g := model(t, fork)
	in, want := runDrawn(t, g)
	nntest.Edit(t, g, func(e *nn.Edit) { e.Widen(node(e, "b"), 1.5) })
	if c := channelsOf(t, g, "in", "m", "b"); c[0] != 9 || c[1] != 9 || c[2] != 9 {
		t.Error(c)
	}
	got, err := g.Run(context.Background(), in...)
	if err != nil {
		t.Fatal(err)
	}
	if err := agree(got[0], want[0], 1e-6); err != nil {
		t.Error(err)
	}
	nntest.Edit(t, g, func(e *nn.Edit) { e.Widen(node(e, "b"), 1) })
	if c := channelsOf(t, g, "in", "m", "b"); c[0] != 9 || c[1] != 9 || c[2] != 9 {
		t.Error("a factor of 1:", c)
	}
	if err := g.Edit(func(e *nn.Edit) { e.Widen(node(e, "b"), 0.5) }); err == nil {
		t.Error("a factor of ½ widens")
	}
}

package nn_test

import (
	"strings"
	"testing"

	"github.com/graft-ml/graft/internal/nntest"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/layers"
	"github.com/graft-ml/graft/nn/op"
)

// acts is a net with activations of several kinds, written out and not.
func acts(e *nn.Edit) {
	y := e.Apply(nn.Sequential{conv(4, 3, "a"), layers.ReLU{Name: "relu"}, conv(4, 3, "b"), layers.SiLU{Name: "silu"}, conv(4, 3, "c")}, input(e))
	gelu := e.Node(op.Plain("Erf"), e.Node(op.Plain("Div"), y, e.Scalar("root", y, 1.4142135)).Out(0)).Out(0)
	gelu = e.Node(op.Plain("Mul"), y, e.Node(op.Plain("Add"), gelu, e.Scalar("one", y, 1)).Out(0)).Out(0)
	gelu = e.Node(op.Plain("Mul"), gelu, e.Scalar("half", y, 0.5)).Out(0)
	e.RenameValue(gelu, "gelu")
	gate := e.Apply(nn.Sequential{conv(4, 1, "g"), layers.Sigmoid{Name: "gate"}}, gelu)
	y = e.Node(op.Plain("Mul"), gelu, gate).Out(0)
	e.Output("y", e.Apply(nn.Sequential{layers.PReLU{Name: "prelu"}, conv(2, 1, "out"), layers.Tanh{Name: "tanh"}}, y))
}

func TestSwapActivations(t *testing.T) {
	for _, c := range []struct {
		name string
		l    nn.Layer
		sel  []nn.Selector
		want string // activations left
		err  string
	}{
		{"all between layers", layers.LeakyReLU{Slope: 0.1}, nil, "LeakyRelu LeakyRelu LeakyRelu Sigmoid Mul LeakyRelu Tanh", ""},
		{"by glob", layers.ELU{Alpha: 0.5}, []nn.Selector{nn.Glob("silu", "gelu")}, "Relu Elu Elu Sigmoid Mul PRelu Tanh", ""},
		{"a gate, selected", nn.OpLayer{Config: op.Plain("HardSigmoid")}, []nn.Selector{nn.Glob("gate")}, "Relu Sigmoid Mul Div Erf Add Mul Mul HardSigmoid Mul PRelu Tanh", ""},
		{"by operator", layers.SiLU{}, []nn.Selector{nn.Ops("Relu", "PRelu")}, "Sigmoid Mul Sigmoid Mul Div Erf Add Mul Mul Sigmoid Mul Sigmoid Mul Tanh", ""},
		{"part of one", layers.ReLU{}, []nn.Selector{nn.Glob("silu.sigmoid")}, "", "no activation is among the nodes selected"},
		{"none", layers.ReLU{}, []nn.Selector{nn.Ops("Conv")}, "", "no activation is among the nodes selected"},
		{"no activation", conv(7, 1, ""), []nn.Selector{nn.Glob("relu")}, "", "cannot be swapped"},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := model(t, acts)
			before := nntest.Dump(g)
			p, err := g.Plan(func(e *nn.Edit) { e.SwapActivations(c.l, c.sel...) })
			if c.err != "" {
				if err == nil || !strings.Contains(err.Error(), c.err) || nntest.Dump(g) != before {
					t.Fatalf("got %v, want %q", err, c.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if err := p.Apply(); err != nil {
				t.Fatal(err)
			}
			var left []string
			for n := range g.Nodes(nn.Not(nn.Ops("Conv"))) {
				left = append(left, n.Type())
			}
			if got := strings.Join(left, " "); got != c.want {
				t.Errorf("has %s, want %s", got, c.want)
			}
			if err := g.Check(); err != nil {
				t.Fatal(err)
			}
			runDrawn(t, g)
			if err := p.Undo(); err != nil || nntest.Dump(g) != before {
				t.Error("undo does not give the graph back", err)
			}
		})
	}
}

// TestSwapActivationsInARow checks that consecutive activations are swapped one by one: each new one
// reads the new one before it.
func TestSwapActivationsInARow(t *testing.T) {
	g := model(t, func(e *nn.Edit) {
		e.Output("y", e.Apply(nn.Sequential{layers.ReLU{}, layers.ELU{}, layers.SiLU{}}, input(e)))
	})
	nntest.Edit(t, g, func(e *nn.Edit) {
		if list := e.SwapActivations(layers.GELU{Tanh: true}); len(list) != 3 || list[2] != e.Value("y") {
			t.Errorf("got %v", list)
		}
	})
	v := g.Outputs()[0]
	for range 3 {
		n := v.Producer()
		if n == nil || n.Type() != "Gelu" {
			t.Fatalf("%v is computed by %v, want Gelu", v, n)
		}
		v = n.Inputs()[0]
	}
	if v != g.Inputs()[0] {
		t.Errorf("the first reads %v", v)
	}
	runDrawn(t, g)
}

// TestTry takes back what fails and keeps what does not.
func TestTry(t *testing.T) {
	g := model(t, chain)
	h := nntest.Clone(t, g)
	nntest.Edit(t, g, func(e *nn.Edit) {
		if err := e.Try(func() { e.Remove(node(e, "b")); e.Value("nothing") }); err == nil {
			t.Error("what failed succeeded")
		}
		if err := e.Try(func() { e.Rewire(e.Value("act"), e.Value("x")) }); err == nil {
			t.Error("a graph with wrong shapes was kept")
		}
		if err := e.Try(func() { e.AddChannels(node(e, "b"), 2) }); err != nil {
			t.Error(err)
		}
	})
	nntest.Edit(t, h, func(e *nn.Edit) { e.AddChannels(node(e, "b"), 2) })
	if nntest.Dump(g) != nntest.Dump(h) {
		t.Error("an attempt that failed left something behind")
	}
}

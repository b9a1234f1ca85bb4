package nn_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/graft-ml/graft/internal/nntest"
	"github.com/graft-ml/graft/nn"
	G "gorgonia.org/gorgonia"
)

func dense(name string, out int) nn.Expr {
	return func(x ...*G.Node) (G.Nodes, error) {
		h := G.Must(G.Mul(x[0], fixed(x[0].Graph(), name, x[0].Shape()[1], out)))
		h = G.Must(G.BroadcastAdd(h, fixed(x[0].Graph(), name+".b", out), nil, []byte{0}))
		return one(G.Tanh(h))
	}
}

// then calls functions one after the other.
func then(list ...nn.Expr) nn.Expr {
	return func(x ...*G.Node) (out G.Nodes, err error) {
		out = x
		for _, f := range list {
			if out, err = f(out...); err != nil {
				return nil, err
			}
		}
		return out, nil
	}
}

// marksIn lists nodes, with names and annotations, and outputs.
func marksIn(g *nn.Graph) string {
	var b strings.Builder
	for n := range g.Nodes() {
		fmt.Fprintf(&b, "%s %q %v reads", n.Type(), n.Name(), n.Annotations())
		for _, v := range n.Inputs() {
			if v.Producer() != nil {
				fmt.Fprintf(&b, " %s", v.Producer().Type())
			} else {
				fmt.Fprintf(&b, " %s", v.Name())
			}
		}
		b.WriteString("\n")
	}
	for _, v := range g.Outputs() {
		fmt.Fprintln(&b, v.Name())
	}
	return b.String()
}

// TestMarksEqualEdits checks that annotating nodes while tracing equals annotating them by an edit of the traced graph.
func TestMarksEqualEdits(t *testing.T) {
	for _, c := range []struct {
		name string
		f    nn.Expr
		edit func(e *nn.Edit)
	}{
		{"Annotate", then(dense("a", 5), nn.Annotate(nn.Annotations{"prune": "no", "n": 3}, dense("b", 6))), func(e *nn.Edit) {
			e.Annotate(nn.Annotations{"prune": "no", "n": 3}, nn.Glob("*"), func(n *nn.Node) bool { return n.In(1).Name() == "b" })
		}},
		{"Apply", then(nn.Apply(dense("a", 5), nn.Annotations{"block": []int{1, 2}}), dense("b", 6)), func(e *nn.Edit) {
			e.Annotate(nn.Annotations{"block": []int{1, 2}}, nn.Not(func(n *nn.Node) bool {
				return n.In(1).Name() == "b" || n.In(1).Name() == "b.b" || n.In(0).Producer() != nil && n.In(0).Producer().In(1).Name() == "b.b"
			}))
		}},
		{"nested", nn.Apply(then(dense("a", 5), nn.Annotate(nn.Annotations{"of": "inner", "only": 1}, dense("b", 6))), nn.Annotations{"of": "outer", "all": 0.5}), func(e *nn.Edit) {
			e.Annotate(nn.Annotations{"of": "outer", "all": 0.5}, nn.Glob("*"))
			e.Annotate(nn.Annotations{"of": "inner", "only": 1}, func(n *nn.Node) bool { return n.In(1).Name() == "b" })
		}},
		{"Anchor", then(dense("a", 5), anchored, dense("b", 6), anchored), func(e *nn.Edit) {
			at := func(name string) *nn.Value {
				for _, n := range e.Nodes(nn.Ops("Tanh")) {
					if n.In(0).Producer().In(1).Name() == name {
						return n.Out(0)
					}
				}
				return nil
			}
			e.Anchor(at("a.b"), nn.Annotations{"split": 1})
			e.Anchor(at("b.b"), nn.Annotations{"split": 1})
		}},
		{"ScopedAnchor", then(dense("a", 5), nn.ScopedAnchor(nn.Annotations{"s": "x"}, dense("b", 6)), nn.ScopedAnchor(nil, dense("c", 6))), func(e *nn.Edit) {
			of := func(name string) nn.Selector {
				return func(n *nn.Node) bool {
					b := n
					if n.Type() == "Tanh" {
						b = n.In(0).Producer()
					}
					return b.In(1).Name() == name || b.In(1).Name() == name+".b"
				}
			}
			e.ScopedAnchor(nn.Annotations{"s": "x"}, of("b"))
			e.ScopedAnchor(nil, of("c"))
		}},
		{"AsOutput", then(dense("a", 5), func(x ...*G.Node) (G.Nodes, error) { return one(nn.AsOutput("inner", x[0])) }, dense("b", 6)), func(e *nn.Edit) {
			for _, n := range e.Nodes(nn.Ops("Tanh")) {
				if n.In(0).Producer().In(1).Name() == "a.b" {
					e.AsOutput("inner", n.Out(0))
				}
			}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := nn.Trace(c.f, "x float32[N,4]")
			if err != nil {
				t.Fatal(err)
			}
			list := []nn.Expr{dense("a", 5), dense("b", 6)}
			if c.name == "ScopedAnchor" {
				list = append(list, dense("c", 6))
			}
			plain, err := nn.Trace(then(list...), "x float32[N,4]")
			if err != nil {
				t.Fatal(err)
			}
			nntest.Edit(t, plain, c.edit)
			if a, b := marksIn(got), marksIn(plain); a != b {
				t.Errorf("traced:\n%s\nedited:\n%s", a, b)
			}
			x := random(3, 5, 4)
			nntest.Near(t, "output", nntest.Run(t, got, x), nntest.Run(t, plain, x), 0)
			out, err := got.Run(t.Context(), x)
			if err != nil {
				t.Fatal(err)
			}
			tapeNear(t, "on Gorgonia's machine", out[0], tape(t, c.f, x)[0])
		})
	}
}

func anchored(x ...*G.Node) (G.Nodes, error) {
	return one(nn.Anchor(x[0], nn.Annotations{"split": 1}))
}

// TestMarksInLoops checks that annotations reach the bodies of loops; an output there, and values that
// files cannot store, are refused.
func TestMarksInLoops(t *testing.T) {
	f := nn.Apply(func(x ...*G.Node) (G.Nodes, error) {
		return nn.For(3, func(s ...*G.Node) (G.Nodes, error) {
			return nn.Annotate(nn.Annotations{"inner": 1}, then(dense("a", 4), anchored))(s[1])
		}, x[0])
	}, nn.Annotations{"loop": "yes"})
	g, err := nn.Trace(f, "x float32[N,4]")
	if err != nil {
		t.Fatal(err)
	}
	loops := 0
	for n := range g.Nodes(nn.Annotated("loop")) {
		got := marksIn(n.Bodies()[0].Graph)
		for _, want := range []string{`MatMul "" map[inner:1 loop:yes]`, `Tanh "" map[loop:yes]`, `Identity "Anchor" map[loop:yes split:1]`, `Identity "" map[]`} {
			if !strings.Contains(got, want) {
				t.Errorf("the body has no %s:\n%s", want, got)
			}
		}
		loops++
	}
	if loops != 1 {
		t.Errorf("%d nodes are annotated, want the Loop", loops)
	}
	for want, f := range map[string]nn.Expr{
		`output "h" is computed in the body of a subgraph`: func(x ...*G.Node) (G.Nodes, error) {
			return nn.For(3, func(s ...*G.Node) (G.Nodes, error) { return one(nn.AsOutput("h", G.Must(G.Tanh(s[1])))) }, x[0])
		},
		"want a string, a number or a slice": nn.Annotate(nn.Annotations{"x": struct{}{}}, dense("a", 3)),
		`the name "x" is taken`:              func(x ...*G.Node) (G.Nodes, error) { return one(nn.AsOutput("x", G.Must(G.Tanh(x[0])))) },
		"needs a name and a value":           func(x ...*G.Node) (G.Nodes, error) { return one(nn.AsOutput("", x[0])) },
	} {
		if _, err := nn.Trace(f, "x float32[N,4]"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// TestMarksRefuse checks that a mark requires a function of at least one value.
func TestMarksRefuse(t *testing.T) {
	tanh := func(x ...*G.Node) (G.Nodes, error) { return one(G.Tanh(x[0])) }
	for name, wrap := range map[string]func(f nn.Expr) nn.Expr{
		"Annotate": func(f nn.Expr) nn.Expr { return nn.Annotate(nn.Annotations{"k": 1}, f) }, "Apply": func(f nn.Expr) nn.Expr { return nn.Apply(f, nil) },
		"ScopedAnchor": func(f nn.Expr) nn.Expr { return nn.ScopedAnchor(nil, f) },
	} {
		x := G.NewMatrix(G.NewGraph(), G.Float32, G.WithShape(2, 3), G.WithName("x"))
		for _, c := range []struct {
			f  nn.Expr
			in G.Nodes
		}{{nil, G.Nodes{x}}, {tanh, nil}, {tanh, G.Nodes{nil}}, {nil, nil}} {
			if _, err := wrap(c.f)(c.in...); err == nil || !strings.Contains(err.Error(), "needs a function and a value") {
				t.Errorf("%s of %d values: %v", name, len(c.in), err)
			}
		}
		if out, err := wrap(tanh)(x); err != nil || len(out) != 1 {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := nn.Anchor(nil, nil); err == nil {
		t.Error("an anchor at nothing")
	}
	y := G.NewMatrix(G.NewGraph(), G.Float32, G.WithShape(2, 3), G.WithName("y"))
	for _, c := range []struct {
		name string
		x    *G.Node
	}{{"", y}, {"o", nil}, {"", nil}} {
		if _, err := nn.AsOutput(c.name, c.x); err == nil || !strings.Contains(err.Error(), "needs a name and a value") {
			t.Errorf("output %q: %v", c.name, err)
		}
	}
	if _, err := nn.Anchor(y, nn.Annotations{"k": struct{}{}}); err == nil {
		t.Error("an annotation that no file holds")
	}
}

package nn_test

import (
	"bytes"
	"fmt"
	"slices"
	"testing"

	"github.com/graft-ml/graft/internal/nntest"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/layers"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/std"
	"github.com/graft-ml/graft/onnxio"
	"gorgonia.org/gorgonia"
)

// replacing returns the standard set with copies in place of operators: of all, or of those named. The copies compute
// the same. ours reports whether an operator is the one that the set holds.
func replacing(t *testing.T, names ...string) (ops op.Set, ours func(o *op.Op) bool) {
	t.Helper()
	var list []*op.Op
	for _, o := range std.Operators().List() {
		if len(names) == 0 || slices.Contains(names, o.Name) {
			c := *o
			list = append(list, &c)
		}
	}
	ops, err := std.Operators().With(list...)
	if err != nil {
		t.Fatal(err)
	}
	return ops, func(o *op.Op) bool { return ops.Find(o.Domain, o.Name) == o }
}

// allOurs checks the nodes of a graph and all that its runs computed.
func allOurs(t *testing.T, g *nn.Graph, ours func(*op.Op) bool) {
	t.Helper()
	for n := range g.Nodes() {
		if !ours(n.Op()) {
			t.Errorf("node %s is not of the graph's set", n.Label())
		}
	}
	for _, c := range g.Computed() {
		if !ours(c.Op) {
			t.Errorf("%s (%s) is not of the graph's set", c.Op, c.Node)
		}
	}
}

// gradients runs a graph of one input x forward and backward.
func gradients(t *testing.T, g *nn.Graph) {
	t.Helper()
	nntest.Edit(t, g, func(e *nn.Edit) {
		y := e.Outputs()[0]
		loss := e.Node(std.ReduceSumConfig{}, e.Node(op.Plain("Mul"), y, y).Out(0)).Out(0)
		e.Output("loss", e.Node(std.ReshapeConfig{}, loss, e.Ints("scalar", 1)).Out(0))
	})
	var wrt []string
	for p := range g.Params() {
		if p.Role() == nn.Weight {
			wrt = append(wrt, p.Name())
		}
	}
	if x := g.Inputs()[0]; x.Type().DType.IsFloat() {
		wrt = append(wrt, x.Name())
	}
	x := nntest.Sample(t, g.Inputs()[0].Type())
	if _, err := g.Grad(t.Context(), nn.Feed{g.Inputs()[0].Name(): x}, "loss", wrt...); err != nil {
		t.Fatal(err)
	}
	if len(g.Computed()) == 0 {
		t.Fatal("nothing was computed")
	}
}

// TestReplacedOperators: whatever makes a node takes the operator from the graph's set, in the graph, in what
// lowerings and gradients make of it, and after it was saved and loaded, copied, cut out and traced.
func TestReplacedOperators(t *testing.T) {
	ops, ours := replacing(t)
	for _, c := range nntest.LayerCases {
		for _, opset := range []int{21, 11} {
			if opset < c.Old {
				continue
			}
			t.Run(fmt.Sprint(c.Name, " ", opset), func(t *testing.T) {
				g := nn.NewGraph("m", ops, map[string]int{"": opset})
				nntest.Edit(t, g, func(e *nn.Edit) { e.Output("y", e.Apply(c.Layer, e.Input("x", c.In))) })
				var file bytes.Buffer
				if err := onnxio.Write(&file, g); err != nil {
					t.Fatal(err)
				}
				loaded, err := onnxio.Loader{Ops: ops}.Read(&file)
				if err != nil {
					t.Fatal(err)
				}
				low, err := g.Lower(nn.LowerOptions{Keep: true})
				if err != nil {
					t.Fatal(err)
				}
				traced, err := low.Trace()
				if err != nil {
					t.Fatal(err)
				}
				fork, _ := g.Fork()
				for _, g := range []*nn.Graph{g, loaded, traced, nntest.Clone(t, g), fork} {
					if c.Name == "function" { // has no node
						continue
					}
					if opset == 21 {
						gradients(t, g)
					}
					// onnxio and constants have operators of their own besides.
					allOurs(t, g, func(o *op.Op) bool { return ours(o) || o.Name == "Stripped" })
				}
			})
		}
	}
}

// TestReplacedFusion: rules leave replaced operators alone, and what they put in place of others is of the set.
func TestReplacedFusion(t *testing.T) {
	build := func(ops op.Set) *nn.Graph {
		g := nn.NewGraph("m", ops, map[string]int{"": 11})
		nntest.Edit(t, g, func(e *nn.Edit) {
			x := e.Input("x", "float32[2,3,4]")
			e.Output("y", e.Apply(layers.LayerNorm{}, e.Apply(layers.GELU{Tanh: true}, e.Apply(layers.Attention{Heads: 2}, x))))
		})
		return g
	}
	computed := func(g *nn.Graph) (names []string) {
		for _, c := range g.Computed() {
			names = append(names, c.Op.Name)
		}
		return names
	}
	fused := []string{"LayerNormalization", "Gelu", "HeadAttention", "PackedAttention", "Linear"}
	ops, ours := replacing(t, fused...)
	g := build(ops)
	gradients(t, g)
	allOurs(t, g, ours)
	for _, name := range []string{"LayerNormalization", "Gelu"} {
		if !slices.Contains(computed(g), name) {
			t.Errorf("%s was not made of its parts: %v", name, computed(g))
		}
	}
	for part, whole := range map[string]string{"Sqrt": "LayerNormalization", "Tanh": "Gelu"} {
		ops, ours := replacing(t, part)
		g := build(ops)
		gradients(t, g)
		allOurs(t, g, ours)
		if slices.Contains(computed(g), whole) || !slices.Contains(computed(g), part) {
			t.Errorf("%s took the place of a group with a replaced %s", whole, part)
		}
	}
}

// TestReplacedElsewhere: expressions, subgraphs and graphs that are joined become those of the set they get into.
func TestReplacedElsewhere(t *testing.T) {
	ops, ours := replacing(t)
	other := nn.New("other")
	nntest.Edit(t, other, func(e *nn.Edit) { e.Output("b", e.Apply(layers.ReLU{}, e.Input("a", "float32[2,3]"))) })
	body := nntest.BodyOf(t, func(e *nn.Edit) {
		e.Input("i", "int64[]")
		e.Output("on", e.Node(op.Plain("Identity"), e.Input("condition", "bool[]")).Out(0))
		e.Output("next", e.Node(op.Plain("Tanh"), e.Input("s", "float32[2,3]")).Out(0))
	})
	g := nn.NewGraph("m", ops, map[string]int{"": nn.LatestOpset})
	nntest.Edit(t, g, func(e *nn.Edit) {
		x := e.Input("x", "float32[2,3]")
		n := e.Node(std.LoopConfig{Body: body}, e.Const("trips", dtype.Scalar(int64(2))), nil, x)
		e.Output("y", e.Expr(func(in ...*gorgonia.Node) (gorgonia.Nodes, error) {
			h, err := std.Operators().Apply1(op.Plain("Relu"), in[0])
			if err != nil {
				return nil, err
			}
			s, err := gorgonia.Sigmoid(h)
			return gorgonia.Nodes{s}, err
		}, n.Out(0))[0])
	})
	for n := range body.Graph.Nodes() {
		if !ours(n.Op()) {
			t.Errorf("%s of the body is not of the set", n.Type())
		}
	}
	joined, err := nn.Join(g, other, map[string]string{"y": "a"})
	if err != nil {
		t.Fatal(err)
	}
	gradients(t, joined)
	allOurs(t, joined, ours)
	if other.Ops().Replaced(op.Name{Name: "Relu"}) || !joined.Ops().Replaced(op.Name{Name: "Relu"}) {
		t.Error("joining changed the wrong set")
	}
}

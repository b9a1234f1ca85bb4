package nn_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/layers"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/std"
)

// normed returns a model of layers that old operator sets lack.
func normed(t *testing.T) *nn.Graph {
	t.Helper()
	g := nn.NewGraph("normed", std.Operators(), map[string]int{"": 21})
	err := g.Edit(func(e *nn.Edit) {
		x := e.Input("x", "float32[2,4,6]")
		y := e.Apply(nn.Sequential{layers.GroupNorm{Groups: 2}, layers.LayerNorm{}, layers.GELU{}, layers.Softmax{Axis: new(1)}}, x)
		e.Output("y", e.Node(std.SqueezeConfig{}, e.Node(std.UnsqueezeConfig{}, y, e.Ints("axes", -1)).Out(0), e.Ints("axes", 3)).Out(0))
	})
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func operatorsOf(g *nn.Graph) (list []string) {
	for n := range g.Nodes() {
		list = append(list, n.Type())
	}
	return list
}

// TestSetOpset rewrites a model for old operator sets and new ones: it computes the same.
func TestSetOpset(t *testing.T) {
	g, x := normed(t), random(1, 2, 4, 6)
	want, err := g.Run(t.Context(), x)
	if err != nil {
		t.Fatal(err)
	}
	for _, version := range []int{23, 20, 17, 13, 12, 9, 17, 21} {
		out := g.Outputs()[0]
		if err := g.Edit(func(e *nn.Edit) { e.SetOpset(version) }); err != nil {
			t.Fatalf("%d: %v", version, err)
		}
		if g.Opsets()[""] != version || g.Outputs()[0] != out || out.Name() != "y" {
			t.Errorf("the graph has operator set %d and output %v: want %d and the same value", g.Opsets()[""], g.Outputs()[0].Name(), version)
		}
		if has := slices.Contains(operatorsOf(g), "LayerNormalization"); has && version < 17 {
			t.Errorf("operator set %d has %v", version, operatorsOf(g))
		}
		got, err := g.Run(t.Context(), x)
		if err != nil {
			t.Fatalf("%d: %v", version, err)
		}
		tapeNear(t, "y", got[0], want[0])
	}
}

// TestSetOpsetUndone refuses what a version lacks, and leaves the graph as it was.
func TestSetOpsetUndone(t *testing.T) {
	g := normed(t)
	before := operatorsOf(g)
	for version, want := range map[int]string{7: "cannot be written in operator set 7", 0: "there is no operator set 0", 99: "there is no operator set 99"} {
		err := g.Edit(func(e *nn.Edit) { e.SetOpset(version) })
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%d: the error is %v, want %q", version, err, want)
		}
	}
	if after := operatorsOf(g); !slices.Equal(after, before) || g.Opsets()[""] != 21 {
		t.Errorf("the graph became %v in operator set %d", after, g.Opsets()[""])
	}
	if _, err := g.Run(t.Context(), random(1, 2, 4, 6)); err != nil {
		t.Error(err)
	}
}

// TestNewestSpelling adds operators as their newest version spells them to graphs of older ones.
func TestNewestSpelling(t *testing.T) {
	add := func(opset int, f func(e *nn.Edit, x *nn.Value) *nn.Value) (*nn.Graph, error) {
		g := nn.NewGraph("old", std.Operators(), map[string]int{"": opset})
		return g, g.Edit(func(e *nn.Edit) { e.Output("y", f(e, e.Input("x", "float32[2,3]"))) })
	}
	squeeze := func(e *nn.Edit, x *nn.Value) *nn.Value {
		return e.Node(std.UnsqueezeConfig{}, x, e.Ints("axes", -1)).Out(0)
	}
	g, err := add(9, squeeze)
	if err != nil {
		t.Fatal(err)
	}
	n := g.Outputs()[0].Producer()
	if c := n.Config().(std.UnsqueezeConfig); !slices.Equal(c.Axes, []int{2}) || len(n.Inputs()) != 1 || len(slices.Collect(g.Params())) != 0 {
		t.Errorf("got %v of %d inputs, parameters %v", c, len(n.Inputs()), slices.Collect(g.Params()))
	}
	steps := func(e *nn.Edit, x *nn.Value) *nn.Value {
		return e.Node(std.SliceConfig{}, x, e.Ints("a", 0), e.Ints("b", 3), e.Ints("c", 1), e.Ints("d", 2)).Out(0)
	}
	if _, err := add(9, steps); err == nil || !strings.Contains(err.Error(), "needs operator set 10, the graph has 9") {
		t.Errorf("the error is %v", err)
	}
	if _, err := add(9, func(e *nn.Edit, x *nn.Value) *nn.Value { return e.Node(op.Plain("Det"), x).Out(0) }); err == nil || !strings.Contains(err.Error(), "needs operator set 11, the graph has 9") {
		t.Errorf("the error is %v", err)
	}
}

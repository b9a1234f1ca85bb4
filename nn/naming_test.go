package nn_test

import (
	"testing"

	"github.com/graft-ml/graft/internal/nntest"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/layers"
	"github.com/graft-ml/graft/nn/op"
)

// TestNodeNamesDiffer: new nodes never share a name, for there are runtimes that refuse such files, also where
// the value of that name has got another one or came from another graph.
func TestNodeNamesDiffer(t *testing.T) {
	model := func() *nn.Graph {
		g := nn.New("m")
		nntest.Edit(t, g, func(e *nn.Edit) {
			e.Output("y", e.Apply(nn.Sequential{layers.Linear{Out: 4}, layers.ReLU{}}, e.Input("x", "float32[N,4]")))
		})
		nntest.Edit(t, g, func(e *nn.Edit) { e.Insert(e.Value("y"), layers.ReLU{}) })
		nntest.Edit(t, g, func(e *nn.Edit) { e.Insert(e.Value("x"), layers.ReLU{}) })
		return g
	}
	g := model()
	distinct(t, g)
	two, err := nn.Join(g, model(), map[string]string{"y": "x"})
	if err != nil {
		t.Fatal(err)
	}
	distinct(t, two)
}

// distinct fails where two nodes have one name.
func distinct(t *testing.T, g *nn.Graph) {
	t.Helper()
	seen := map[string]bool{}
	for n := range g.Nodes() {
		if n.Name() != "" && seen[n.Name()] {
			t.Errorf("two nodes are named %q", n.Name())
		}
		seen[n.Name()] = true
	}
}

// TestLabels: a label is free when no name of a value, parameter or node is it or goes on from it with a dot, and stays so through
// renaming, removing, trying and taking back.
func TestLabels(t *testing.T) {
	g := nn.New("m")
	label := func(e *nn.Edit, kind, name, want string) {
		t.Helper()
		if got := e.Label(kind, name); got != want {
			t.Errorf("the label for %q is %q, want %q", kind+name, got, want)
		}
	}
	weight := func(e *nn.Edit, name string) *nn.Value { return e.Const(name, nntest.Ramp(2)) }
	nntest.Edit(t, g, func(e *nn.Edit) {
		x := e.Input("x", "float32[2]")
		e.Output("y", e.Node(op.Plain("Relu"), x).Out(0))
		label(e, "", "block", "block")
		a := weight(e, "block.a.weight")
		b := weight(e, "block.b")
		label(e, "", "block", "block_1")
		label(e, "", "block.a", "block.a_1")
		label(e, "", "block.b", "block.b_1")
		label(e, "", "block.c", "block.c")
		label(e, "", "bloc", "bloc")
		label(e, "linear", "", "linear1")
		c := weight(e, "linear1.w")
		label(e, "linear", "", "linear2")
		e.RenameValue(c, "linear2.w")
		label(e, "linear", "", "linear1")
		weight(e, "linear1")
		label(e, "linear", "", "linear3")
		e.RenameValue(a, "other.weight")
		label(e, "", "block.a", "block.a")
		label(e, "", "block", "block_1")
		e.RenameValue(b, "b")
		label(e, "", "block", "block")
		if err := e.Try(func() { weight(e, "block.tried"); label(e, "", "block", "block_1"); e.Failf("no") }); err == nil {
			t.Error("tried in vain")
		}
		label(e, "", "block", "block")
		e.Scope("scope.", func() {
			label(e, "", "block", "scope.block")
			label(e, "relu", "", "scope.relu1")
			weight(e, "scope.relu1.w")
			label(e, "relu", "", "scope.relu2")
		})
		label(e, "", "scope", "scope_1")
		n := e.Op("named", op.Plain("Neg"), 1, x)[0].Producer()
		label(e, "", "named", "named_1")
		e.RenameNode(n, "renamed")
		e.RenameValue(n.Out(0), "z")
		label(e, "", "named", "named")
		label(e, "", "renamed", "renamed_1")
	})
	p, err := g.Plan(func(e *nn.Edit) { weight(e, "late.w"); label(e, "", "late", "late_1") })
	if err != nil {
		t.Fatal(err)
	}
	nntest.Edit(t, g, func(e *nn.Edit) { label(e, "", "late", "late"); e.SetName("other") })
	if p.Apply() == nil {
		t.Error("a plan of another version was applied")
	}
	nntest.Edit(t, g, func(e *nn.Edit) {
		for _, want := range []string{"v", "v_1", "v_2"} {
			if got := e.New("v"); got != want {
				t.Errorf("a new name is %q, want %q", got, want)
			}
			weight(e, want)
		}
		e.RenameValue(e.Value("v_1"), "w")
		if got := e.New("v"); got != "v_1" {
			t.Errorf("a new name is %q, want the one that has become free", got)
		}
		if got := e.New(""); got != "value" {
			t.Errorf("a new name of nothing is %q", got)
		}
	})
}

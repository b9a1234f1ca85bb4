package nn_test

import (
	"testing"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/internal/nntest"
	"github.com/graft-ml/graft/nn/layers"
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

package nn_test

import (
	"slices"
	"testing"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/layers"
	"gorgonia.org/tensor"
)

// TestZeroGraph: a graph that nobody made can be read, planned for, edited and run.
func TestZeroGraph(t *testing.T) {
	var g nn.Graph
	for range g.Nodes() {
		t.Error("a node")
	}
	if err := g.Check(); err != nil || len(g.Inputs()) > 0 || g.Labels() != nil {
		t.Error(err, g.Inputs(), g.Labels())
	}
	net := func(e *nn.Edit) {
		e.SetMeta("author", "someone")
		e.Output("y", e.Apply(layers.ReLU{}, e.Input("x", "float32[N,2]")))
	}
	if _, err := g.Plan(net); err != nil {
		t.Error(err)
	}
	if err := g.Edit(net); err != nil {
		t.Fatal(err)
	}
	out, err := g.Run(t.Context(), tensor.New(tensor.WithShape(1, 2), tensor.WithBacking([]float32{-1, 2})))
	if err != nil || !slices.Equal(dtype.Slice[float32](out[0]), []float32{0, 2}) {
		t.Error(out, err)
	}
	if got := g.Opsets()[""]; got != nn.LatestOpset {
		t.Errorf("operator set %d", got)
	}
}

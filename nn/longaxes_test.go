package nn_test

import (
	"testing"

	"github.com/graft-ml/graft/internal/nntest"
	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/layers"
	"github.com/graft-ml/graft/nn/op"
)

// TestLongAxes: axes with more indices than there is memory for are not analyzed, and the channels of others are what they were.
func TestLongAxes(t *testing.T) {
	for _, shape := range [][]int{{1 << 31}, {1<<31 - 1, 1<<31 - 1}, {1 << 40}, {1<<63 - 1}, {1 << 27, 1 << 27}, {1 << 32, 0}} {
		g := nn.New("long")
		nntest.Edit(t, g, func(e *nn.Edit) {
			h := e.Apply(layers.Linear{Out: 5, Name: "h"}, e.Input("x", "float32[N,3]"))
			e.Output("y", e.Apply(layers.Linear{Out: 2}, h))
			long := e.Node(op.Plain("ConstantOfShape"), e.Ints("shape", shape...)).Out(0)
			e.Output("long", e.Node(op.Plain("Neg"), long).Out(0))
		})
		groups := g.Channels().Groups()
		if len(groups) != 1 || len(groups[0].Atoms) != 5 {
			t.Errorf("%v: %d groups, want one of 5 atoms", shape, len(groups))
		}
	}
}

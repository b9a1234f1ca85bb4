package mutate_test

import (
	"slices"
	"testing"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/mutate"
	"github.com/graft-ml/graft/nn/op/std"
)

// TestSitesByTraits: what declares a window is a place for changes, whatever it is called.
func TestSitesByTraits(t *testing.T) {
	g := nn.New("traits")
	if err := g.Edit(func(e *nn.Edit) {
		x := e.Input("x", "float32[N,3,9,9]")
		e.Output("y", e.Node(std.LpPoolConfig{Kernel: []int{3, 3}, Pads: []int{1, 1, 1, 1}}, x).Out(0))
	}); err != nil {
		t.Fatal(err)
	}
	m := mutate.Mutator{Weights: map[mutate.Kind]float64{mutate.Kernel: 1}, Kernels: []int{5}}
	done, err := m.Apply(g, 1)
	if err != nil {
		t.Fatal(err)
	}
	for n := range g.Nodes() {
		if c, ok := n.Config().(std.LpPoolConfig); !ok || !slices.Equal(c.Kernel, []int{5, 5}) {
			t.Errorf("%v left %+v", done, n.Config())
		}
	}
	if _, err := m.Apply(g, 1); err == nil {
		t.Error("a kernel that has the only size was changed")
	}
}

package contrib_test

import (
	"slices"
	"testing"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"github.com/graft-ml/graft/nn/initial"
	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/contrib"
	"github.com/graft-ml/graft/nn/op/std"
)

// TestFusedConvKernel: a larger kernel has zeros around it, and the results stay.
func TestFusedConvKernel(t *testing.T) {
	ops, err := contrib.With(std.Operators())
	if err != nil {
		t.Fatal(err)
	}
	g := nn.NewGraph("fused", ops, map[string]int{"": nn.LatestOpset, contrib.Domain: 1})
	if err := g.Edit(func(e *nn.Edit) {
		cfg := contrib.FusedConvConfig{Kernel: []int{3, 3}, Pads: []int{1, 1, 1, 1}, Activation: "Relu"}
		e.Output("y", e.Node(cfg, e.Input("x", "float32[1,2,6,6]"), e.Param("w", initial.KaimingUniform{}, 3, 2, 3, 3)).Out(0))
	}); err != nil {
		t.Fatal(err)
	}
	numbers := make([]float32, 72)
	for i := range numbers {
		numbers[i] = float32(i%7) - 3
	}
	x, err := dtype.FromSlice(numbers, 1, 2, 6, 6)
	if err != nil {
		t.Fatal(err)
	}
	run := func() []float32 {
		y, err := g.Run(t.Context(), x)
		if err != nil {
			t.Fatal(err)
		}
		return slices.Clone(dtype.Slice[float32](y[0]))
	}
	want := run()
	var cfg op.Config
	if err := g.Edit(func(e *nn.Edit) {
		e.SetKernel(e.Nodes()[0], 5)
		cfg = e.Nodes()[0].Config()
	}); err != nil {
		t.Fatal(err)
	}
	c := cfg.(contrib.FusedConvConfig)
	if !slices.Equal(c.Kernel, []int{5, 5}) || !slices.Equal(c.Pads, []int{2, 2, 2, 2}) || c.Activation != "Relu" {
		t.Errorf("the attributes became %+v", c)
	}
	got := run()
	for i := range want {
		if d := got[i] - want[i]; d > 1e-5 || d < -1e-5 {
			t.Fatalf("element %d is %v, was %v", i, got[i], want[i])
		}
	}
}

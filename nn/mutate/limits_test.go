package mutate_test

import (
	"fmt"
	"testing"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/layers"
	"github.com/graft-ml/graft/nn/mutate"
)

// TestLimits checks kernels and strides at their limits.
func TestLimits(t *testing.T) {
	for _, c := range []struct {
		m  mutate.Mutator
		ok bool
	}{
		{mutate.Mutator{Kernels: []int{1, 64}}, true}, {mutate.Mutator{Kernels: []int{3, 0}}, false}, {mutate.Mutator{Kernels: []int{65}}, false},
		{mutate.Mutator{Step: 4}, true}, {mutate.Mutator{Step: 4.01}, false}, {mutate.Mutator{Step: -0.01}, false},
	} {
		if err := c.m.Check(); (err == nil) != c.ok {
			t.Errorf("%+v: %v", c.m, err)
		}
	}
}

// TestLargest checks that no mutation makes a model larger than either limit allows.
func TestLargest(t *testing.T) {
	for _, by := range []string{"parameters", "multiply-adds"} {
		g := nn.New("g")
		if err := g.Edit(func(e *nn.Edit) {
			e.Output("y", e.Apply(nn.Sequential{layers.Linear{Out: 6}, layers.ReLU{}, layers.Linear{Out: 3}}, e.Input("x", "float32[N,4]")))
		}); err != nil {
			t.Fatal(err)
		}
		kinds := map[mutate.Kind]float64{mutate.Widen: 1}
		size := func() string { s := g.Summary().Total; return fmt.Sprint(s.Params, s.MACs) }
		before := size()
		for seed := range uint64(5) {
			m := mutate.Mutator{Seed: seed, Weights: kinds, MaxParams: g.Summary().Total.Params}
			if by == "multiply-adds" {
				m.MaxParams, m.MaxMACs = 0, g.Summary().Total.MACs
			}
			if err := g.Edit(func(e *nn.Edit) { m.Mutate(e, 0) }); err == nil || size() != before {
				t.Errorf("%s: %v, %s was %s", by, err, size(), before)
			}
		}
	}
}

package prune_test

import (
	"context"
	"errors"
	"testing"

	"github.com/graft-ml/graft/internal/kernel/kerneltest"
	"github.com/graft-ml/graft/nn/prune"
)

// Planning looks at its context before and after each of its phases, and before each measurement of the search, and ends at any of these looks
// without changing the graph.
func TestPlanChecks(t *testing.T) {
	g := chain(t)
	version := g.Version()
	p := prune.Pruner{Target: prune.Target{MACs: 0.5}}
	n := 0
	for ; n < 100; n++ {
		_, err := p.Plan(&kerneltest.EndsAfter{Context: t.Context(), Left: n}, g)
		if err == nil {
			break
		}
		if !errors.Is(err, context.Canceled) {
			t.Fatalf("after %d looks: %v", n, err)
		}
	}
	if groups := len(p.Groups(g)); n < 3+groups+3 || n == 100 {
		t.Errorf("looked %d times, with %d groups", n, groups)
	}
	if g.Version() != version {
		t.Error("the graph has changed")
	}
}

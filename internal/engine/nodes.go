package engine

import (
	"fmt"

	"github.com/graft-ml/graft/internal/budget"
	"gorgonia.org/gorgonia"
)

// nodeBytes is about what a node takes in an expression graph and a program, without its value.
const nodeBytes = 4 << 10

// nodesStep is how many nodes are charged at once, at least.
const nodesStep = 16

// HoldNodes charges n nodes of g to the budget, those charged before included, while g is reachable.
func HoldNodes(g *gorgonia.ExprGraph, n int) error {
	if g == nil || n < nodesStep {
		return nil
	}
	charged := int(budget.Held(g) / nodeBytes)
	if n <= charged {
		return nil
	}
	if err := budget.Keep(g, nodeBytes*int64(max(n-charged, nodesStep, charged/8))); err != nil {
		return fmt.Errorf("an expression graph of %d nodes: %w", n, err)
	}
	return nil
}

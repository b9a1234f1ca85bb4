package engine

import (
	"fmt"
	"runtime"
	"sync"
	"weak"

	"github.com/graft-ml/graft/internal/budget"
	"gorgonia.org/gorgonia"
)

// nodeBytes is about what a node takes in an expression graph and a program, without its value.
const nodeBytes = 4 << 10

// nodesStep is how many nodes are charged at once, at least.
const nodesStep = 16

// nodes is how many nodes of expression graphs are charged.
var nodes struct {
	sync.Mutex
	of map[weak.Pointer[gorgonia.ExprGraph]]int
}

// HoldNodes charges n nodes of g to the budget, those charged before included, while g is reachable.
func HoldNodes(g *gorgonia.ExprGraph, n int) error {
	if g == nil || n < nodesStep {
		return nil
	}
	key := weak.Make(g)
	nodes.Lock()
	charged, known := nodes.of[key]
	nodes.Unlock()
	if n <= charged {
		return nil
	}
	more := max(n-charged, nodesStep, charged/8)
	if err := budget.Charge(int64(more) * nodeBytes); err != nil { // not locked: it waits for forgetNodes
		return fmt.Errorf("an expression graph of %d nodes: %w", n, err)
	}
	nodes.Lock()
	defer nodes.Unlock()
	if nodes.of == nil {
		nodes.of = map[weak.Pointer[gorgonia.ExprGraph]]int{}
	}
	if !known {
		runtime.AddCleanup(g, forgetNodes, key)
	}
	nodes.of[key] += more
	return nil
}

func forgetNodes(key weak.Pointer[gorgonia.ExprGraph]) {
	nodes.Lock()
	n := nodes.of[key]
	delete(nodes.of, key)
	nodes.Unlock()
	budget.Discharge(int64(n) * nodeBytes)
}

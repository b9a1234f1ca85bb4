package nn

import (
	"github.com/graft-ml/graft/internal/engine"
	"gorgonia.org/gorgonia"
)

// NewMachine runs an expression graph, a lowering or one of Gorgonia's own operators, on graft's
// engine in place of a TapeMachine: RunAll reads the values of input nodes and leaves results where
// Node.Value, Node.Grad and gorgonia.Read find them. Given nodes, it computes those alone and reuses
// the memory of all others. The graph must not change after the first RunAll, and its tensors hold
// until the next.
func NewMachine(g *gorgonia.ExprGraph, nodes ...*gorgonia.Node) gorgonia.VM {
	return engine.NewVM(g, engine.Options{}, nodes...)
}

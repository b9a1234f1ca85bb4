package nn

import (
	"github.com/graft-ml/graft/internal/engine"
	"gorgonia.org/gorgonia"
)

// NewMachine returns a machine that runs an expression graph, a lowering or one of Gorgonia's own operators, on graft's
// engine instead of a TapeMachine. RunAll reads the values of input nodes and stores results where Node.Value, Node.Grad
// and gorgonia.Read find them. If nodes are given, only those are computed, and the memory of all others is reused. The
// graph must not change after the first RunAll; results are valid until the next one.
func NewMachine(g *gorgonia.ExprGraph, nodes ...*gorgonia.Node) gorgonia.VM {
	return engine.NewVM(g, engine.Options{}, nodes...)
}

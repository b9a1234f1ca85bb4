// Package snapshot copies the weights and statistics of a graph, to return to them.
package snapshot

import (
	"slices"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"gorgonia.org/tensor"
)

// Weights are copies of a graph's parameters, without its constants.
type Weights map[*nn.Param]*tensor.Dense

// Of copies the parameters of g.
func Of(g *nn.Graph) Weights {
	w := Weights{}
	for p := range g.Params() {
		if p.Data() != nil && p.Role() != nn.Constant {
			w[p] = dtype.Clone(p.Data())
		}
	}
	return w
}

// Restore writes the copies back to their parameters, except to those that have another shape now.
func (w Weights) Restore() {
	for p, d := range w {
		if p.Data() != nil && slices.Equal(p.Data().Shape(), d.Shape()) {
			copy(dtype.Bytes(p.Data()), dtype.Bytes(d))
			p.Changed()
		}
	}
}

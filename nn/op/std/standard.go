package std

import (
	"slices"
	"sync"

	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/epilogue"
	"github.com/graft-ml/graft/nn/op/loops"
)

// Operators returns the set of all operators of this package. It is the default of functions that load or create a graph;
// functions that work on a graph use the graph's own set.
func Operators() op.Set { return standard() }

// The operators are built once: the set is immutable.
var standard = sync.OnceValue(func() op.Set { return op.NewSet(all(), fusions()...).Rewriting(rewrites()...) })

// fusions returns the rules by which standard operators run as one kernel, in the order in which they are tried.
func fusions() []op.Fusion {
	return slices.Concat(
		[]op.Fusion{
			op.NewFusion(fuseConcat),
			op.NewFusion(fusePool),
			op.NewFusion(fuseConv),
		},
		epilogue.FusionsOf(fuseConvEpilogue),
		epilogue.Fusions(),
		[]op.Fusion{
			op.NewFusion(fuseGate),
			loops.Fusion(),
		},
	)
}

package std

import (
	"slices"
	"sync"

	"github.com/graft-ml/graft/nn/op"
	"github.com/graft-ml/graft/nn/op/epilogue"
	"github.com/graft-ml/graft/nn/op/loops"
)

// Standard holds every operator of graft. It is the default of the functions that open or start a
// graph; whatever works on a graph takes the graph's set.
func Operators() op.Set { return standard() }

// The operators are built once: the set is immutable.
var standard = sync.OnceValue(func() op.Set { return op.NewSet(all(), fusions()...).Rewriting(rewrites()...) })

// fusions are the rules by which standard operators run as one kernel, in the order in which they are tried.
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

package op

import "sync"

// Standard holds every operator of graft. It is the default of the functions that open or start a
// graph; whatever works on a graph takes the graph's set.
func Standard() Set { return standard() }

// The operators are built once: the set is immutable.
var standard = sync.OnceValue(func() Set { return NewSet(all(), fusions()...) })

// fusions are the rules by which standard operators run as one kernel, in the order in which they are tried.
func fusions() []Fusion {
	return []Fusion{
		NewFusion(fuseConcat),
		NewFusion(fusePool),
		NewFusion(fuseConv),
		NewFusion(fuseConvEpilogue),
		EpilogueFusion(),
		NewFusion(fuseGate),
		LoopFusion(),
	}
}

//go:build !purego

package kernel

// On arm64 some groups of kernels have a NEON form, which every such processor can run. The
// kernels that only AVX2 has are after SIMD and AVX512.
const (
	SIMD   = false
	AVX512 = false
)

// neonGroups are the groups that gen-arm64 makes.
const neonGroups = BlockGroup | VectorGroup | ConvGroup | TapGroup | TurnGroup

// NEON is switched off by tests only.
var NEON = true

// Has reports whether the kernels of a group can run.
func Has(g Group) bool { return neonGroups&g != 0 && NEON }

// pause is the body of spin loops.
func pause() { pauseAsm() }

//go:build !purego

package kernel

// On arm64 some groups of kernels have a NEON form, which every such processor can run. The
// kernels that only AVX2 has are behind simd and avx512.
const (
	simd   = false
	avx512 = false
)

// neonGroups are the groups that gen-arm64 makes.
const neonGroups = blockGroup | vectorGroup | convGroup | tapGroup | turnGroup

// neon is switched off by tests only.
var neon = true

// has tells whether the kernels of a group can run.
func has(g group) bool { return neonGroups&g != 0 && neon }

// pause is the body of spin loops.
func pause() { pauseAsm() }

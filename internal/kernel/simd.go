package kernel

import "runtime"

// Group is a part of the assembly. A processor has all kernels of a group or none; where it has
// none, the callers take the portable loops. simd_amd64.go, simd_arm64.go and simd_portable.go
// say what a build has.
type Group uint8

const (
	BlockGroup    Group = 1 << iota // micro-kernels of the matrix product, packing, products of one or two rows
	VectorGroup                     // elementwise functions, their gradients, and sums
	ConvGroup                       // convolution that reads its input in place, by tiles
	TapGroup                        // depthwise convolution and pooling: rows combined with a few weights
	TurnGroup                       // transposition
	winogradGroup                   // transforms of convolutions
)

// Info tells which kernels run on this machine.
type Info struct {
	Kernels string `json:"kernels"` // the instruction set, or portable
	Micro   string `json:"micro"`   // rows × columns of the largest block of the matrix product
	Threads int    `json:"threads"` // how many run at once, unless told otherwise
}

// About tells which kernels run on this machine.
func About() Info {
	i := Info{Kernels: "portable", Micro: "2×4", Threads: runtime.GOMAXPROCS(0)}
	switch {
	case AVX512:
		i.Kernels, i.Micro = "AVX-512", "12×32"
	case SIMD:
		i.Kernels, i.Micro = "AVX2+FMA", "6×16"
	case Has(BlockGroup):
		i.Kernels, i.Micro = "NEON", "6×16"
	}
	return i
}

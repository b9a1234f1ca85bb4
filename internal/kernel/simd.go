package kernel

import "runtime"

// Group is a group of assembly kernels. An architecture has all kernels of a group or none; without
// them, callers run the portable loops. simd_amd64.go, simd_arm64.go and simd_portable.go define the
// groups of a build.
type Group uint8

const (
	BlockGroup    Group = 1 << iota // micro-kernels of the matrix product, packing, products of one or two rows
	VectorGroup                     // elementwise functions, their gradients, and sums
	ConvGroup                       // convolution that reads its input in place, by tiles
	TapGroup                        // depthwise convolution and pooling: rows combined with a few weights
	TurnGroup                       // transposition
	winogradGroup                   // transforms of convolutions
)

// Info describes the kernels that run on this machine.
type Info struct {
	Kernels string `json:"kernels"` // instruction set, or "portable"
	Micro   string `json:"micro"`   // rows × columns of the largest micro-kernel of the matrix product
	Threads int    `json:"threads"` // default number of threads
}

// About returns which kernels run on this machine.
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

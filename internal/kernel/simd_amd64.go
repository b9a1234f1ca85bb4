//go:build !purego

package kernel

import "golang.org/x/sys/cpu"

// SIMD reports whether the assembly can run on this machine: AVX2 and FMA.
var SIMD = cpu.X86.HasAVX2 && cpu.X86.HasFMA

// AVX512 reports whether AVX-512 (registers of 16 floats) can be used as well.
var AVX512 = SIMD && cpu.X86.HasAVX512F

// followers are the variables registered by FollowAVX512.
var followers []*bool

// FollowAVX512 keeps wide equal to AVX512. The assembly of each package reads its own variable, because it cannot refer to one
// in a package whose path has a hyphen.
func FollowAVX512(wide *bool) {
	*wide = AVX512
	followers = append(followers, wide)
}

// Limit sets the instruction sets that kernels may use, for tests. They must be available on this machine.
func Limit(simd, avx512 bool) {
	SIMD, AVX512 = simd, avx512
	for _, wide := range followers {
		*wide = avx512
	}
}

// Has reports whether the kernels of a group can run: all of them exist for AVX2.
func Has(Group) bool { return SIMD }

// pause is the body of spin loops.
func pause() { pauseAsm() }

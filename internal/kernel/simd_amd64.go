//go:build !purego

package kernel

import "golang.org/x/sys/cpu"

// simd tells whether the assembly can run on this machine: AVX2 and FMA.
var simd = cpu.X86.HasAVX2 && cpu.X86.HasFMA

// avx512 tells whether registers of 16 floats can be used as well.
var avx512 = simd && cpu.X86.HasAVX512F

// has tells whether the kernels of a group can run: all of them exist for AVX2.
func has(group) bool { return simd }

// pause is the body of spin loops.
func pause() { pauseAsm() }

//go:build !purego

package kernel

import "golang.org/x/sys/cpu"

// simd tells whether the assembly can run on this machine.
var simd = cpu.X86.HasAVX2 && cpu.X86.HasFMA

// avx512 tells whether registers of 16 floats can be used as well.
var avx512 = simd && cpu.X86.HasAVX512F

// pause is the body of spin loops.
func pause() { pauseAsm() }

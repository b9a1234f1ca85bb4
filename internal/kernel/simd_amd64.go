//go:build !purego

package kernel

import "golang.org/x/sys/cpu"

// simd tells whether the assembly can run on this machine.
var simd = cpu.X86.HasAVX2 && cpu.X86.HasFMA

// pause is the body of spin loops.
func pause() { pauseAsm() }

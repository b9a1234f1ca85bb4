//go:build !purego

package optim

import "golang.org/x/sys/cpu"

//go:generate go run ./gen -out asm_amd64.s -stubs asm_amd64.go -pkg optim

// simd reports whether the assembly can run on this machine.
var simd = cpu.X86.HasAVX2

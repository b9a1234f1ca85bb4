//go:build (!amd64 && !arm64) || purego

package kernel

import "runtime"

const (
	simd   = false
	avx512 = false
)

func has(group) bool { return false }

// pause is the body of spin loops.
func pause() { runtime.Gosched() }

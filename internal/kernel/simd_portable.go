//go:build (!amd64 && !arm64) || purego

package kernel

import "runtime"

const (
	SIMD   = false
	AVX512 = false
)

func Has(Group) bool { return false }

// pause is the body of spin loops.
func pause() { runtime.Gosched() }

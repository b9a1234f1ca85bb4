//go:build !purego

package kerneltest

import "github.com/graft-ml/graft/internal/kernel"

// Portably calls f with the assembly switched off.
func Portably(f func()) {
	hadSIMD, hadWide := kernel.SIMD, kernel.AVX512
	kernel.Limit(false, false)
	defer kernel.Limit(hadSIMD, hadWide)
	f()
}

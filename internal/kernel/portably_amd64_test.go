//go:build !purego

package kernel

// portably calls f with the assembly switched off.
func portably(f func()) {
	hadSIMD, hadWide := simd, avx512
	simd, avx512 = false, false
	defer func() { simd, avx512 = hadSIMD, hadWide }()
	f()
}

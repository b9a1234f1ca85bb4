//go:build amd64 && !purego

package kernel

import "testing"

// narrower runs tests as a processor without AVX-512 does, and one without AVX2.
func narrower(t *testing.T, tests map[string]func(t *testing.T)) {
	if testing.Short() {
		t.Skip("runs tests twice more")
	}
	hadWide, hadSIMD := avx512, simd
	defer func() { avx512, simd = hadWide, hadSIMD }()
	for _, level := range []struct {
		name       string
		simd, wide bool
	}{{"AVX2", true, false}, {"Go", false, false}} {
		if level.simd && !hadSIMD {
			continue
		}
		simd, avx512 = level.simd, level.wide
		for name, run := range tests {
			t.Run(level.name+"/"+name, run)
		}
	}
}

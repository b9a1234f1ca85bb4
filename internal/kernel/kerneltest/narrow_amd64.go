//go:build amd64 && !purego

package kerneltest

import (
	"testing"

	"github.com/graft-ml/graft/internal/kernel"
)

// Narrower runs tests as a processor without AVX-512 does, and one without AVX2.
func Narrower(t *testing.T, tests map[string]func(t *testing.T)) {
	if testing.Short() {
		t.Skip("runs tests twice more")
	}
	hadWide, hadSIMD := kernel.AVX512, kernel.SIMD
	defer kernel.Limit(hadSIMD, hadWide)
	for _, level := range []struct {
		name       string
		simd, wide bool
	}{{"AVX2", true, false}, {"Go", false, false}} {
		if level.simd && !hadSIMD {
			continue
		}
		kernel.Limit(level.simd, level.wide)
		for name, run := range tests {
			t.Run(level.name+"/"+name, run)
		}
	}
}

//go:build !purego

package kerneltest

import "github.com/graft-ml/graft/internal/kernel"

// Portably calls f with the assembly switched off.
func Portably(f func()) {
	kernel.NEON = false
	defer func() { kernel.NEON = true }()
	f()
}

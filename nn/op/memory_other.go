//go:build !linux

package op

import "math"

// machineMemory is how many bytes of memory there may be.
func machineMemory() float64 { return math.Inf(1) }

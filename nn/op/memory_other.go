//go:build !linux

package op

import "math"

// MachineMemory is how many bytes of memory there may be.
func MachineMemory() float64 { return math.Inf(1) }

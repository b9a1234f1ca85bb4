//go:build darwin || freebsd || netbsd || openbsd || dragonfly

package budget

import (
	"math"

	"golang.org/x/sys/unix"
)

// allowedMemory returns the memory of the machine in bytes.
func allowedMemory() int64 {
	for _, name := range []string{"hw.memsize", "hw.physmem64", "hw.physmem"} {
		if n, err := unix.SysctlUint64(name); err == nil && n > 0 {
			return int64(min(n, math.MaxInt64))
		}
	}
	return math.MaxInt64 / 2
}

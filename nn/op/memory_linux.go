package op

import (
	"math"
	"sync"

	"golang.org/x/sys/unix"
)

// MachineMemory is how many bytes of memory there are. Asking for more is refused; the system
// would end the process.
var MachineMemory = sync.OnceValue(func() float64 {
	var info unix.Sysinfo_t
	if err := unix.Sysinfo(&info); err != nil {
		return math.Inf(1)
	}
	return (float64(info.Totalram) + float64(info.Totalswap)) * float64(info.Unit)
})

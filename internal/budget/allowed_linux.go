package budget

import (
	"math"
	"os"
	"path"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// allowedMemory returns the memory of the machine in bytes, or that allowed by the control groups of the
// process, beyond which the system ends it.
func allowedMemory() int64 {
	n := int64(math.MaxInt64)
	var info unix.Sysinfo_t
	if err := unix.Sysinfo(&info); err == nil {
		n = int64((uint64(info.Totalram) + uint64(info.Totalswap)) * uint64(info.Unit))
	}
	groups, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return n
	}
	return min(n, groupLimit(string(groups), os.ReadFile))
}

// groupLimit returns the smallest limit of the control groups listed, of version 1 or 2, and of those around them.
func groupLimit(groups string, read func(name string) ([]byte, error)) int64 {
	limit := int64(math.MaxInt64)
	for line := range strings.Lines(groups) {
		part := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(part) != 3 {
			continue
		}
		root, file := "/sys/fs/cgroup", "memory.max"
		switch {
		case part[1] == "memory":
			root, file = "/sys/fs/cgroup/memory", "memory.limit_in_bytes"
		case part[1] != "":
			continue
		}
		for dir := path.Clean("/" + part[2]); ; dir = path.Dir(dir) {
			if b, err := read(path.Join(root, dir, file)); err == nil {
				if n, err := strconv.ParseInt(strings.TrimSpace(string(b)), 10, 64); err == nil && n > 0 {
					limit = min(limit, n)
				}
			}
			if dir == "/" {
				break
			}
		}
	}
	return limit
}

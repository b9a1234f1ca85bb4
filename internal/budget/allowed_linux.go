package budget

import (
	"math"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// allowedMemory returns the memory of the machine in bytes, or that allowed by the control groups of the
// process, beyond which the system slows it down or ends it, or what its own limits (ulimit -v, -d) leave, beyond which it ends itself.
func allowedMemory() int64 {
	n := int64(math.MaxInt64)
	var info unix.Sysinfo_t
	if err := unix.Sysinfo(&info); err == nil {
		n = int64((uint64(info.Totalram) + uint64(info.Totalswap)) * uint64(info.Unit))
	}
	pages, _ := os.ReadFile("/proc/self/statm")
	for _, what := range []int{unix.RLIMIT_AS, unix.RLIMIT_DATA} {
		var own unix.Rlimit
		if err := unix.Getrlimit(what, &own); err == nil {
			n = min(n, unreserved(uint64(own.Cur), string(pages), what == unix.RLIMIT_AS))
		}
	}
	return min(n, groupLimit(os.ReadFile))
}

// groupLimit returns the smallest limit of the control groups of the process, of version 1 or 2, and of those around them, as far as
// they are visible.
func groupLimit(read func(name string) ([]byte, error)) int64 {
	limit := int64(math.MaxInt64)
	groups, err := read("/proc/self/cgroup")
	if err != nil {
		return limit
	}
	mounts, _ := read("/proc/self/mountinfo")
	all := hierarchies(string(mounts))
	for line := range strings.Lines(string(groups)) {
		part := strings.SplitN(strings.TrimSpace(line), ":", 3) // number, controllers, group
		if len(part) != 3 || !path.IsAbs(part[2]) {
			continue
		}
		second := part[1] == "" // version 2
		if !second && !slices.Contains(strings.Split(part[1], ","), "memory") {
			continue
		}
		for _, h := range all {
			if h.second != second {
				continue
			}
			for dir := h.inside(part[2]); ; dir = path.Dir(dir) {
				limit = min(limit, limitOf(path.Join(h.at, dir), read))
				if dir == "/" {
					break
				}
			}
		}
	}
	return limit
}

// limitOf returns the limit that a control group sets.
func limitOf(dir string, read func(name string) ([]byte, error)) int64 {
	limit := int64(math.MaxInt64)
	for _, name := range []string{"memory.max", "memory.high", "memory.limit_in_bytes", "memory.stat"} {
		b, _ := read(path.Join(dir, name))
		text := string(b)
		if name == "memory.stat" { // of version 1: the smallest limit, also of groups around it that are not visible
			_, text, _ = strings.Cut("\n"+text, "\nhierarchical_memory_limit ")
			text, _, _ = strings.Cut(text, "\n")
		}
		if n, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64); err == nil && n >= 0 { // no number: "max"
			limit = min(limit, n)
		}
	}
	return limit
}

// A hierarchy of control groups that is mounted, as a whole or from one of its groups on.
type hierarchy struct {
	second   bool // version 2
	root, at string
}

// inside returns the path below the mount point of a group, that of the root if the group is not visible.
func (h hierarchy) inside(group string) string {
	group, root := path.Clean(group), path.Clean(h.root)
	switch rest, ok := strings.CutPrefix(group, root); {
	case root == "/":
		return group
	case ok && rest == "":
		return "/"
	case ok && rest[0] == '/':
		return rest
	}
	return "/"
}

// hierarchies lists those of the memory controller in /proc/self/mountinfo; if that lists none, where they usually are.
func hierarchies(mounts string) (list []hierarchy) {
	plain := strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`)
	for line := range strings.Lines(mounts) {
		before, after, _ := strings.Cut(line, " - ")
		place, kind := strings.Fields(before), strings.Fields(after) // …, root, mount point, options; type, source, options
		if len(place) < 5 || len(kind) < 3 {
			continue
		}
		if second := kind[0] == "cgroup2"; second || kind[0] == "cgroup" && slices.Contains(strings.Split(kind[2], ","), "memory") {
			list = append(list, hierarchy{second, plain.Replace(place[3]), plain.Replace(place[4])})
		}
	}
	if list == nil {
		list = []hierarchy{{true, "/", "/sys/fs/cgroup"}, {false, "/", "/sys/fs/cgroup/memory"}}
	}
	return list
}

// unreserved returns what a limit of the process leaves: for that of its addresses (all), without those that Go has reserved. pages is the
// content of /proc/self/statm.
func unreserved(limit uint64, pages string, all bool) int64 {
	var size int64
	if f := strings.Fields(pages); all && len(f) > 0 {
		n, _ := strconv.ParseInt(f[0], 10, 64)
		size = n * int64(os.Getpagesize())
	}
	if limit >= math.MaxInt64 { // none
		return math.MaxInt64
	}
	return max(1, int64(limit)-size)
}

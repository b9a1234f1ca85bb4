package budget

import (
	"io/fs"
	"math"
	"testing"
)

// TestGroupLimit: the smallest limit of a process's control group and of those around it counts, of both versions, wherever they are mounted.
func TestGroupLimit(t *testing.T) {
	const (
		none    = math.MaxInt64
		second  = "30 23 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n"
		first   = "34 31 0:31 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n35 31 0:32 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory\n"
		hybrid  = first + "41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n"
		inside1 = "35 31 0:32 /docker/c1 /sys/fs/cgroup/memory ro master:9 - cgroup cgroup rw,memory\n"
		inside2 = "30 23 0:26 /docker/c1 /sys/fs/cgroup ro - cgroup2 cgroup rw\n"
		spaces  = "30 23 0:26 / /groups\\040of\\134all rw - cgroup2 cgroup2 rw\n"
		high    = "/sys/fs/cgroup"
		low     = "/sys/fs/cgroup/memory"
	)
	type files = map[string]string
	for name, c := range map[string]struct {
		groups, mounts string
		files          files
		want           int64
	}{
		"the outer is smaller": {"0::/a/b\n", second, files{high + "/a/b/memory.max": "7000\n", high + "/a/memory.max": "5000\n"}, 5000},
		"the inner is smaller": {"0::/a/b\n", second, files{high + "/a/b/memory.max": "3000\n", high + "/a/memory.max": "5000\n"}, 3000},
		"max":                  {"0::/a/b\n", second, files{high + "/a/b/memory.max": "max\n", high + "/a/b/memory.high": "max\n", high + "/a/memory.max": "5000\n"}, 5000},
		"all max":              {"0::/a\n", second, files{high + "/a/memory.max": "max\n", high + "/a/memory.high": "max\n"}, none},
		"high":                 {"0::/a\n", second, files{high + "/a/memory.max": "5000\n", high + "/a/memory.high": "4000\n"}, 4000},
		"high around":          {"0::/a/b\n", second, files{high + "/a/b/memory.max": "5000\n", high + "/a/memory.high": "4000\n"}, 4000},
		"zero":                 {"0::/a\n", second, files{high + "/a/memory.max": "0\n"}, 0},
		"a namespace":          {"0::/\n", second, files{high + "/memory.max": "6000\n"}, 6000},
		"another group":        {"0::/a\n", second, files{high + "/b/memory.max": "6000\n"}, none},
		"a prefix":             {"0::/docker/c10\n", inside2, files{high + "/0/memory.max": "1\n", high + "/memory.max": "6000\n"}, 6000},
		"outside the mount":    {"0::/../../x\n", inside2, files{high + "/memory.max": "6000\n"}, 6000},
		"a container":          {"0::/docker/c1/x\n", inside2, files{high + "/x/memory.max": "4000\n", high + "/memory.max": "6000\n"}, 4000},
		"its root":             {"0::/docker/c1\n", inside2, files{high + "/memory.max": "6000\n"}, 6000},
		"elsewhere":            {"0::/a\n", spaces, files{`/groups of\all/a/memory.max`: "4000\n"}, 4000},

		"version 1":                        {"4:memory:/c/d\n3:cpuset:/a\n", first, files{low + "/c/d/memory.limit_in_bytes": "9000\n", low + "/c/memory.limit_in_bytes": "7000\n", low + "/memory.limit_in_bytes": "9223372036854771712\n", low + "/a/memory.limit_in_bytes": "1\n"}, 7000},
		"with other controllers":           {"4:cpuacct,memory:/c\n", "35 31 0:32 / /mnt/x rw - cgroup none rw,cpuacct,memory\n", files{"/mnt/x/c/memory.limit_in_bytes": "7000\n"}, 7000},
		"version 1, a container":           {"4:memory:/docker/c1/x\n", inside1, files{low + "/x/memory.limit_in_bytes": "4000\n", low + "/memory.limit_in_bytes": "6000\n"}, 4000},
		"version 1, a limit not visible":   {"4:memory:/docker/c1\n", inside1, files{low + "/memory.limit_in_bytes": "6000\n", low + "/memory.stat": "cache 1\nhierarchical_memory_limit 2000\nhierarchical_memsw_limit 1\n"}, 2000},
		"both, memory is of version 1":     {"4:memory:/c\n0::/u\n", hybrid, files{low + "/c/memory.limit_in_bytes": "7000\n"}, 7000},
		"both, memory is of version 2":     {"4:cpuset:/c\n0::/u\n", hybrid, files{high + "/unified/u/memory.max": "8000\n"}, 8000},
		"mounts are not known":             {"0::/a\n", "", files{high + "/a/memory.max": "5000\n"}, 5000},
		"mounts are not known, version 1":  {"4:memory:/c\n", "", files{low + "/c/memory.limit_in_bytes": "7000\n"}, 7000},
		"nothing there":                    {"0::/\n", second, nil, none},
		"damaged":                          {"damaged\n0::\n4:memory:..\n", second + "damaged - \n- - -\n", files{high + "/memory.max": "-1\n"}, none},
		"lines that are too short":         {"0::/a\n4:memory:/a\n", "30 23 0:26 / /x rw - cgroup2\n30 23 0:26 - cgroup2 cgroup2 rw\n30 23 0:26 / /x rw - cgroup cgroup\n", files{high + "/a/memory.max": "5000\n"}, 5000},
		"a mount without options":          {"0::/a\n", "30 23 0:26 / /y - cgroup2 cgroup2 rw\n", files{"/y/a/memory.max": "5000\n"}, 5000},
		"a limit in another hierarchy":     {"4:memory:/c\n", first, files{high + "/cpuset/c/memory.limit_in_bytes": "1\n", low + "/c/memory.limit_in_bytes": "7000\n"}, 7000},
		"damaged limits":                   {"0::/a\n", second, files{high + "/a/memory.max": "12 34", high + "/memory.max": "99999999999999999999"}, none},
		"no groups":                        {"", second, files{high + "/memory.max": "1\n"}, none},
		"a limit of the root in version 2": {"0::/a\n", second, files{high + "/memory.max": "6000\n"}, 6000},
	} {
		got := groupLimit(func(name string) ([]byte, error) {
			switch s, ok := c.files[name]; {
			case name == "/proc/self/cgroup" && c.groups != "":
				return []byte(c.groups), nil
			case name == "/proc/self/mountinfo" && c.mounts != "":
				return []byte(c.mounts), nil
			case ok:
				return []byte(s), nil
			}
			return nil, fs.ErrNotExist
		})
		if got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
	if n := allowedMemory(); n <= 0 || n == none {
		t.Errorf("%d bytes are allowed here", n)
	}
}

package budget

import (
	"io/fs"
	"math"
	"testing"
)

// TestGroupLimit: the smallest limit of a process's control group and of those around it counts.
func TestGroupLimit(t *testing.T) {
	files := map[string]string{
		"/sys/fs/cgroup/a/b/memory.max":                   "max\n",
		"/sys/fs/cgroup/a/memory.max":                     "5000\n",
		"/sys/fs/cgroup/memory/c/memory.limit_in_bytes":   "7000\n",
		"/sys/fs/cgroup/memory/memory.limit_in_bytes":     "9223372036854771712\n",
		"/sys/fs/cgroup/memory/c/d/memory.limit_in_bytes": "9000\n",
	}
	read := func(name string) ([]byte, error) {
		if s, ok := files[name]; ok {
			return []byte(s), nil
		}
		return nil, fs.ErrNotExist
	}
	for groups, want := range map[string]int64{
		"0::/a/b\n": 5000, "4:memory:/c/d\n3:cpuset:/a\n": 7000, "0::/\n": math.MaxInt64, "damaged": math.MaxInt64,
	} {
		if got := groupLimit(groups, read); got != want {
			t.Errorf("%q: %d, want %d", groups, got, want)
		}
	}
}

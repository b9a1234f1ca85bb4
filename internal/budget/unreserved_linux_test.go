package budget

import (
	"math"
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// TestUnreserved: a limit of the process's addresses counts without those that are reserved already.
func TestUnreserved(t *testing.T) {
	page := int64(os.Getpagesize())
	for _, c := range []struct {
		limit uint64
		pages string
		all   bool
		want  int64
	}{
		{unix.RLIM_INFINITY, "10 1 1 1 0 1 0\n", true, math.MaxInt64},
		{1 << 30, "10 1 1 1 0 1 0\n", true, 1<<30 - 10*page},
		{1 << 30, "10 1 1 1 0 1 0\n", false, 1 << 30},
		{uint64(5 * page), "10 1 1 1 0 1 0\n", true, 1},
		{1 << 30, "", true, 1 << 30},
	} {
		if got := unreserved(c.limit, c.pages, c.all); got != c.want {
			t.Errorf("%d of which %q are used: %d, want %d", c.limit, c.pages, got, c.want)
		}
	}
}

// A file whose size the system does not say is read to its end.
func TestUnknownSize(t *testing.T) {
	if b, err := ReadFile(os.DirFS("/proc/self"), "status"); err != nil || len(b) < 100 {
		t.Errorf("%d bytes: %v", len(b), err)
	}
}

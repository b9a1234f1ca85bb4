package budget

import (
	"math"
	"runtime/debug"
	"testing"
)

// TestHeapLimit: what is mapped outside of Go's memory leaves less to its garbage.
func TestHeapLimit(t *testing.T) {
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(-1))
	defer LimitHeap(0)
	own := debug.SetMemoryLimit(-1)
	expect := func(what string, want int64) {
		t.Helper()
		if got := debug.SetMemoryLimit(-1); got != want {
			t.Errorf("%s: a limit of %d, want %d", what, got, want)
		}
	}
	Outside(50 << 20)
	expect("no limit of the command", own)
	LimitHeap(100 << 20)
	expect("50 MB outside", 50<<20)
	Outside(tellFrom / 2)
	expect("a small change", 50<<20)
	Outside(10 << 20)
	expect("60 MB outside", 40<<20-tellFrom/2)
	Outside(30 << 20)
	expect("90 MB outside", leastHeap)
	Outside(-90<<20 - tellFrom/2)
	expect("nothing outside", 100<<20)
	LimitHeap(1 << 20)
	expect("a limit of 1 MB", 1<<20)
	LimitHeap(math.MaxInt64)
	expect("without a limit", math.MaxInt64)
}

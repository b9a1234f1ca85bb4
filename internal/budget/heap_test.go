package budget

import (
	"math"
	"runtime"
	"runtime/debug"
	"testing"
)

// heapLimited sets back what LimitHeap changes when the test ends.
func heapLimited(t *testing.T) {
	own := debug.SetMemoryLimit(-1)
	t.Cleanup(func() { LimitHeap(math.MaxInt64, own) })
}

// TestHeapLimit: what is mapped outside of Go's memory leaves less to it; what is live may always take a little more than it does.
func TestHeapLimit(t *testing.T) {
	heapLimited(t)
	var list []byte
	live := func() int64 {
		runtime.GC()
		heap.Lock()
		defer heap.Unlock()
		u := readHeap()
		return u.other + (u.live+u.slack())/97*100
	}
	expect := func(what string, least, most int64) {
		t.Helper()
		if got := debug.SetMemoryLimit(-1); got < least || got > most {
			t.Errorf("%s: a limit of %d, want %d to %d", what, got, least, most)
		}
	}
	live()
	Outside(500 << 20)
	LimitHeap(1000<<20, math.MaxInt64)
	expect("500 MB outside", 500<<20, 500<<20)
	Outside(leeway / 2)
	expect("a small change", 500<<20, 500<<20)
	Outside(300<<20 - leeway/2)
	expect("800 MB outside", 200<<20, 200<<20)
	Outside(199 << 20)
	expect("999 MB outside", leeway, live()+2<<20)
	list = make([]byte, 50<<20)
	for range 2 {
		live()
		settle() // cleanups run by themselves
	}
	expect("50 MB live", 54<<20, live()+2<<20)
	runtime.KeepAlive(list)
	Outside(-999 << 20)
	expect("nothing outside", 1000<<20, 1000<<20)
	LimitHeap(1000<<20, 100<<20)
	expect("what the program's user allows", 100<<20, 100<<20)
	LimitHeap(math.MaxInt64, math.MaxInt64)
	expect("no limit", math.MaxInt64, math.MaxInt64)
}

// TestGarbageBesideCharge: garbage is collected before something is allocated that would exceed the limit beside it.
func TestGarbageBesideCharge(t *testing.T) {
	if testing.Short() {
		t.Skip("measures memory")
	}
	heapLimited(t)
	settle()
	heap.Lock()
	u := readHeap()
	heap.Unlock()
	limit := u.live + u.other + 64<<20
	LimitHeap(limit, math.MaxInt64)
	for range 30 {
		b, err := Bytes(24 << 20)
		if err != nil {
			t.Fatal(err)
		}
		heap.Lock()
		u := readHeap()
		heap.Unlock()
		if n := u.objects + u.other; n > limit {
			t.Errorf("%d bytes in use, with a limit of %d", n, limit)
		}
		runtime.KeepAlive(b)
	}
}

package budget

import (
	"runtime/debug"
	"sync"
)

// heap is the limit of Go's memory that LimitHeap set, 0: none, and how many bytes are outside of it, now and when Go was last told.
var heap struct {
	sync.Mutex
	limit, outside, told int64
}

const (
	tellFrom  = 1 << 20  // change of the bytes outside from which Go is told: it stops all goroutines for a moment
	leastHeap = 32 << 20 // with less, collecting garbage would take most of the time
)

// LimitHeap makes Go collect garbage before its memory and what is mapped outside of it exceed n bytes.
func LimitHeap(n int64) {
	heap.Lock()
	defer heap.Unlock()
	heap.limit = n
	tell()
}

// Outside reports that n more bytes are mapped outside of Go's memory, or −n less.
func Outside(n int64) {
	heap.Lock()
	defer heap.Unlock()
	heap.outside += n
	if d := heap.outside - heap.told; heap.limit > 0 && (d >= tellFrom || d <= -tellFrom) {
		tell()
	}
}

func tell() {
	heap.told = heap.outside
	debug.SetMemoryLimit(max(heap.limit-heap.outside, min(heap.limit, leastHeap)))
}

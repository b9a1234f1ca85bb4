package budget

import (
	"math"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync"
	"sync/atomic"
)

// heap is the limit of Go's memory together with what is mapped outside of it, which LimitHeap set.
var heap struct {
	sync.Mutex
	limit   int64 // 0: none
	most    int64 // of Go's memory in any case
	outside int64 // bytes mapped outside of Go's memory
	told    int64 // Go's limit when it was last set
	armed   bool  // afterCollection runs after the next collection
	samples []metrics.Sample
}

// unseen is how many bytes were charged since makeRoom looked at the heap, and lookAt from how many it does.
var unseen, lookAt atomic.Int64

func init() { lookAt.Store(math.MaxInt64) }

// Garbage may take leeway bytes, and 1/scanShare of what a collection reads, beyond the limit if what is live needs all of it: with less, most of
// the time would be spent on collections.
const (
	leeway    = 4 << 20
	scanShare = 8
	lookShare = 32 // the heap is looked at for each 1/lookShare of the limit that is charged
)

// LimitHeap makes Go collect garbage before its memory and what is mapped outside of it exceed n bytes, as far as what is live allows that. most
// limits Go's memory in any case. This is a setting of the whole process: for a program's main function, not for a library.
func LimitHeap(n, most int64) {
	heap.Lock()
	defer heap.Unlock()
	heap.limit, heap.most = n, most
	lookAt.Store(max(n/lookShare, 1))
	tell(readHeap())
	if !heap.armed {
		heap.armed = true
		arm()
	}
}

// arm calls afterCollection once, after the next collection.
func arm() { runtime.AddCleanup(new([16]byte), func(int) { afterCollection() }, 0) }

func afterCollection() {
	heap.Lock()
	defer heap.Unlock()
	tell(readHeap())
	arm()
}

// Outside reports that n more bytes are mapped outside of Go's memory, or −n less.
func Outside(n int64) {
	heap.Lock()
	heap.outside += n
	over := false
	if heap.limit > 0 && (n >= leeway || n <= -leeway) {
		u := readHeap()
		tell(u)
		over = n > 0 && u.objects+u.free+u.other+heap.outside > heap.limit
	}
	heap.Unlock()
	if over {
		debug.FreeOSMemory()
	}
}

// makeRoom collects garbage if n more bytes, which are charged, would exceed the limit beside it: Go begins a collection only after a large
// variable is allocated.
func makeRoom(n int64) {
	if unseen.Add(n) < lookAt.Load() {
		return
	}
	unseen.Store(0)
	heap.Lock()
	u := readHeap()
	full := u.objects+u.other+heap.outside+n > heap.limit && u.objects-u.live > u.slack()
	heap.Unlock()
	if full {
		runtime.GC()
	}
}

// usage is what Go's memory consists of, in bytes.
type usage struct {
	live    int64 // what the last collection left
	scanned int64 // what a collection reads
	objects int64 // what is live, and garbage
	free    int64 // what was objects, and the system has not got back
	other   int64 // stacks, tables and gaps
}

// slack is how much garbage there may be beyond the limit.
func (u usage) slack() int64 { return leeway + u.scanned/scanShare }

func readHeap() (u usage) {
	if heap.samples == nil {
		for _, name := range []string{"/gc/heap/live:bytes", "/gc/scan/total:bytes", "/memory/classes/heap/objects:bytes", "/memory/classes/heap/free:bytes", "/memory/classes/heap/released:bytes", "/memory/classes/total:bytes"} {
			heap.samples = append(heap.samples, metrics.Sample{Name: name})
		}
	}
	metrics.Read(heap.samples)
	var released, total int64
	for i, n := range []*int64{&u.live, &u.scanned, &u.objects, &u.free, &released, &total} {
		if v := heap.samples[i].Value; v.Kind() == metrics.KindUint64 {
			*n = int64(v.Uint64())
		}
	}
	u.other = max(total-released-u.free-u.objects, 0)
	return u
}

// tell sets Go's limit, of which Go leaves 3 % unused.
func tell(u usage) {
	limit := min(heap.most, max(heap.limit-heap.outside, u.other+(u.live+u.slack())/97*100))
	if d := limit - heap.told; d >= 1<<20 || d <= -1<<20 {
		debug.SetMemoryLimit(limit)
		heap.told = limit
	}
}

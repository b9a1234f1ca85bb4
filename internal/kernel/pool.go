package kernel

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// parkAfter is how long an idle worker spins before it parks. Waking a parked
// thread costs tens of microseconds, longer than many operators run, so workers
// stay awake between the operators of one step and sleep when the step is over.
const parkAfter = time.Millisecond

const (
	// yieldEvery is after how many spins (of about 0.1 µs) a waiting thread lets another
	// goroutine run.
	yieldEvery = 32
	// yieldAfter is after how many it also lets threads run that the system has put behind
	// it. Those may be of other programs and stay for milliseconds, which is longer than
	// most loops take.
	yieldAfter = 1000
)

// relax passes the time between two looks at what a thread waits for.
func relax(spins int) {
	pause()
	if spins%yieldEvery == 0 {
		runtime.Gosched() // a worker may be waiting for this P
		if spins >= yieldAfter {
			yield()
		}
	}
}

// Pool is a fixed set of worker goroutines for short parallel loops. The calling
// goroutine is worker 0. A nil *Pool is valid and runs everything on the caller.
//
// Run and Range may be called from any number of goroutines: whoever finds the pool
// busy, a call from inside a task included, runs its own loop serially, in the same
// pieces, and so with the same result.
type Pool struct {
	*crew
}

// crew is what the workers hold on to; it does not refer back to the Pool, so that
// a Pool nobody uses any more can be collected and its workers stopped.
type crew struct {
	threads int
	busy    sync.Mutex
	seq     atomic.Uint32 // counts loops; a change tells the workers to look
	gate    atomic.Uint32 // how many workers are at the current loop, and shut: nobody may begin any more
	closed  atomic.Bool
	spans   []span // of the tasks of the current loop, for each worker
	f       func(worker, i int)
	parked  []atomic.Bool
	wake    []chan struct{}
	panics  []any
}

// shut is what gate has besides the number of workers once there is nothing left to begin.
const shut = 1 << 31

var defaultPool = sync.OnceValue(func() *Pool { return NewPool(0) })

// Default is the pool shared by everything that did not ask for one of its own; it
// is made on first use with GOMAXPROCS threads and never closed.
func Default() *Pool { return defaultPool() }

// NewPool starts a pool of the given number of threads, the caller of Run counted;
// 0 or less means GOMAXPROCS.
func NewPool(threads int) *Pool {
	if threads <= 0 {
		threads = runtime.GOMAXPROCS(0)
	}
	c := &crew{
		threads: threads,
		spans:   make([]span, threads),
		parked:  make([]atomic.Bool, threads),
		wake:    make([]chan struct{}, threads),
		panics:  make([]any, threads),
	}
	c.gate.Store(shut)
	for w := 1; w < threads; w++ {
		c.wake[w] = make(chan struct{}, 1)
		go c.work(w)
	}
	p := &Pool{c}
	runtime.AddCleanup(p, (*crew).stop, c)
	return p
}

// Threads is the number of threads that Run spreads over, at least 1.
func (p *Pool) Threads() int {
	if p == nil {
		return 1
	}
	return p.threads
}

// Close stops the workers. Later calls of Run and Range work, serially.
func (p *Pool) Close() {
	if p == nil {
		return
	}
	p.busy.Lock()
	defer p.busy.Unlock()
	p.stop()
}

func (c *crew) stop() {
	if !c.closed.Swap(true) {
		c.signal()
	}
}

// signal tells all workers that there is something to do.
func (c *crew) signal() {
	c.seq.Add(1)
	for w := 1; w < c.threads; w++ {
		if c.parked[w].Load() {
			select {
			case c.wake[w] <- struct{}{}:
			default: // a token is there already
			}
		}
	}
}

// Run calls f(worker, i) for each i in [0, n); calls of equal worker never overlap. Worker
// w begins with the w-th contiguous share of the range, but whoever is through takes from the
// ends of the others' shares: what a task computes must not depend on its worker. If tasks
// panic, Run panics with the value of the lowest worker once all have stopped.
func (p *Pool) Run(n int, f func(worker, i int)) {
	if p == nil || n <= 1 || p.threads == 1 || !p.busy.TryLock() {
		for i := range n {
			f(0, i)
		}
		return
	}
	defer p.busy.Unlock()
	if p.closed.Load() {
		for i := range n {
			f(0, i)
		}
		return
	}
	p.loop(n, f)
	runtime.KeepAlive(p) // or the workers would be stopped under way
}

// Each calls f once on each thread, on all of them at the same time.
func (p *Pool) Each(f func(worker int)) {
	if p == nil || p.threads == 1 {
		f(0)
		return
	}
	p.busy.Lock()
	defer p.busy.Unlock()
	if p.closed.Load() {
		f(0)
		return
	}
	var there atomic.Int32
	p.loop(p.threads, func(worker, _ int) {
		there.Add(1)
		for spins := 1; int(there.Load()) < p.threads; spins++ {
			relax(spins)
		}
		f(worker)
	})
}

// loop runs one parallel loop; the caller holds busy. It does not wait for workers that come so late that nothing is
// left for them.
func (c *crew) loop(n int, f func(worker, i int)) {
	c.f = f
	for w := range c.spans {
		c.spans[w].set(w*n/c.threads, (w+1)*n/c.threads)
	}
	c.gate.Store(0)
	c.signal()
	c.share(0)
	c.gate.Or(shut)
	for spins := 1; c.gate.Load() != shut; spins++ {
		relax(spins)
	}
	c.f = nil
	var first any
	for w, v := range c.panics {
		if v != nil {
			if first == nil {
				first = v
			}
			c.panics[w] = nil
		}
	}
	if first != nil {
		panic(first)
	}
}

// share runs the tasks of worker w, then those that the workers after it have not begun, and keeps
// what one panics with.
func (c *crew) share(w int) {
	defer func() {
		if v := recover(); v != nil {
			c.panics[w] = v
		}
	}()
	for i, ok := c.spans[w].first(); ok; i, ok = c.spans[w].first() {
		c.f(w, i)
	}
	for next := range c.threads - 1 {
		other := &c.spans[(w+1+next)%c.threads]
		for i, ok := other.last(); ok; i, ok = other.last() {
			c.f(w, i)
		}
	}
}

// work is the life of worker w.
func (c *crew) work(w int) {
	for seen := uint32(0); ; {
		c.await(w, seen)
		if c.closed.Load() {
			return
		}
		seen = c.seq.Load()
		if c.enter() {
			c.share(w)
			c.gate.Add(^uint32(0)) // one less
		}
	}
}

// enter says whether there may still be something to do in the current loop.
func (c *crew) enter() bool {
	for {
		v := c.gate.Load()
		if v&shut != 0 {
			return false
		}
		if c.gate.CompareAndSwap(v, v+1) {
			return true
		}
	}
}

// await returns when the loop counter is no longer seen: it spins, then parks.
func (c *crew) await(w int, seen uint32) {
	var since time.Time
	for spins := 1; c.seq.Load() == seen; spins++ {
		relax(spins)
		if spins%yieldEvery != 0 {
			continue
		}
		if since.IsZero() {
			since = time.Now()
			continue
		}
		if time.Since(since) < parkAfter {
			continue
		}
		c.parked[w].Store(true)
		if c.seq.Load() == seen {
			<-c.wake[w]
		}
		c.parked[w].Store(false)
		since = time.Time{}
	}
}

// Range splits [0, n) into contiguous pieces of at least grain elements, no more
// than there are threads, and calls f(lo, hi) for each. The pieces depend on n,
// grain and the number of threads alone.
func (p *Pool) Range(n, grain int, f func(lo, hi int)) {
	pieces := min(p.Threads(), n/max(grain, 1))
	if pieces <= 1 {
		if n > 0 {
			f(0, n)
		}
		return
	}
	p.Run(pieces, func(_, i int) { f(i*n/pieces, (i+1)*n/pieces) })
}

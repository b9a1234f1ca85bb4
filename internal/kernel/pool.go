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
	// yieldEvery is the number of spins (of about 0.1 µs) after which a waiting thread lets
	// another goroutine run.
	yieldEvery = 32
	// yieldAfter is the number of spins after which it also yields its processor to threads that
	// the system has scheduled after it. These may belong to other programs and run for
	// milliseconds, which is longer than most loops take.
	yieldAfter = 1000
)

// relax pauses between two checks of the condition that a thread waits for.
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
// Run and Range may be called from any number of goroutines. A call that finds the
// pool busy, including a call from inside a task, runs its loop serially, in the same
// shards and thus with the same result.
//
// A pool that [Pool.Stoppable] returned can be stopped, see [Pool.StopBy].
type Pool struct {
	*crew                  // nil: the caller only
	owner  *Pool           // pool that owns the workers, to keep it alive
	serial *Pool           // see Serial
	done   <-chan struct{} // see StopBy
	step   int             // see Cut
}

// Stopped is the value with which Run, Range and Check panic once their pool is stopped.
type Stopped struct{}

func (Stopped) Error() string { return "kernel: stopped" }

// crew is the state that the workers refer to. It does not refer to the Pool, so that
// an unused Pool can be garbage-collected and its workers stopped.
type crew struct {
	threads int
	busy    sync.Mutex
	seq     atomic.Uint32 // number of loops; a change wakes the workers
	gate    atomic.Uint32 // number of workers in the current loop, plus shut once none may enter any more
	closed  atomic.Bool
	spans   []span // by worker: tasks of the current loop
	f       func(worker, i int)
	done    <-chan struct{} // of the pool that runs the current loop
	parked  []atomic.Bool
	wake    []chan struct{}
	panics  []any
}

// shut is added to gate once no task of the loop is left to start.
const shut = 1 << 31

var defaultPool = sync.OnceValue(func() *Pool { return NewPool(0) })

// Default returns the shared pool. It is made on first use with GOMAXPROCS threads and
// never closed.
func Default() *Pool { return defaultPool() }

// NewPool starts a pool with the given number of threads, including the caller of Run;
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
	p := &Pool{crew: c}
	runtime.AddCleanup(p, (*crew).end, c)
	return p
}

// Threads returns the number of threads that Run uses, at least 1.
func (p *Pool) Threads() int {
	if p == nil || p.crew == nil {
		return 1
	}
	return p.threads
}

// Stoppable returns a pool that shares the workers of p, which may be nil, and can be stopped independently. It is for one user at a
// time.
func (p *Pool) Stoppable() *Pool {
	s := &Pool{serial: &Pool{}}
	if p != nil {
		s.crew, s.owner, s.step, s.serial.step = p.crew, p, p.step, p.step
	}
	return s
}

// StopBy sets the channel that stops a pool from Stoppable; nil: none. Once it is closed, Run and Range start no more tasks, and
// panic with [Stopped] when the running ones have ended. StopBy must not be called during a loop.
func (p *Pool) StopBy(done <-chan struct{}) { p.done, p.serial.done = done, done }

// Serial returns a pool of the calling goroutine only, which is stopped together with p, for loops within tasks.
func (p *Pool) Serial() *Pool {
	if p == nil {
		return nil
	}
	return p.serial
}

// Check panics with [Stopped] if p is stopped: long tasks call it every few milliseconds.
func (p *Pool) Check() {
	if p != nil {
		check(p.done)
	}
}

func check(done <-chan struct{}) {
	checked(done)
	select {
	case <-done:
		panic(Stopped{})
	default:
	}
}

// Close stops the workers. Later calls of Run and Range work, serially.
func (p *Pool) Close() {
	if p == nil || p.crew == nil {
		return
	}
	p.busy.Lock()
	defer p.busy.Unlock()
	p.crew.end()
}

func (c *crew) end() {
	if !c.closed.Swap(true) {
		c.signal()
	}
}

// signal wakes all workers.
func (c *crew) signal() {
	c.seq.Add(1)
	for w := 1; w < c.threads; w++ {
		if c.parked[w].Load() {
			select {
			case c.wake[w] <- struct{}{}:
			default: // there already is a token
			}
		}
	}
}

// Run calls f(worker, i) for each i in [0, n); calls with the same worker never overlap. Worker
// w starts with the w-th contiguous part of the range, but workers that have finished steal from
// the ends of other parts: the result of a task must not depend on its worker. If tasks panic,
// Run panics with the value of the lowest worker once all have stopped.
func (p *Pool) Run(n int, f func(worker, i int)) {
	if n <= 1 || p.Threads() == 1 || !p.busy.TryLock() {
		p.alone(n, f)
		return
	}
	defer p.busy.Unlock()
	if p.closed.Load() {
		p.alone(n, f)
		return
	}
	p.loop(n, p.done, f)
	runtime.KeepAlive(p) // otherwise the workers might be stopped during the loop
}

// alone is Run on the calling goroutine.
func (p *Pool) alone(n int, f func(worker, i int)) {
	for i := range n {
		p.Check()
		f(0, i)
	}
}

// Each calls f once on each thread, on all threads at the same time.
func (p *Pool) Each(f func(worker int)) {
	if p.Threads() == 1 {
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
	p.loop(p.threads, nil, func(worker, _ int) {
		there.Add(1)
		for spins := 1; int(there.Load()) < p.threads; spins++ {
			relax(spins)
		}
		f(worker)
	})
}

// loop runs one parallel loop; the caller holds busy. It does not wait for workers that wake up after all tasks have been
// started.
func (c *crew) loop(n int, done <-chan struct{}, f func(worker, i int)) {
	c.f, c.done = f, done
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
	c.f, c.done = nil, nil
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

// share runs the tasks of worker w, then those that the workers after it have not started, and records
// the value of a panic.
func (c *crew) share(w int) {
	defer func() {
		if v := recover(); v != nil {
			c.panics[w] = v
		}
	}()
	for i, ok := c.spans[w].first(); ok; i, ok = c.spans[w].first() {
		c.task(w, i)
	}
	for next := range c.threads - 1 {
		other := &c.spans[(w+1+next)%c.threads]
		for i, ok := other.last(); ok; i, ok = other.last() {
			c.task(w, i)
		}
	}
}

// task runs task i on worker w.
func (c *crew) task(w, i int) {
	check(c.done)
	c.f(w, i)
}

// work is the main loop of worker w.
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

// enter enters the current loop; it returns false if no task is left.
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

// Limits of the part that one call of Range's function computes: grains, about a millisecond, or elements if an element is a grain
// or more.
const (
	cutGrains = 64
	cutLarge  = 8
)

// Range splits [0, n) into contiguous shards of at least grain elements, at most one per thread, and calls f(lo, hi) for each
// shard, or for consecutive parts of a long one. The parts depend only on n, grain and the number of threads.
func (p *Pool) Range(n, grain int, f func(lo, hi int)) {
	grain = max(grain, 1)
	shards := min(p.Threads(), n/grain)
	if shards <= 1 {
		p.inTurn(0, n, grain, f)
		return
	}
	p.Run(shards, func(_, i int) { p.inTurn(i*n/shards, (i+1)*n/shards, grain, f) })
}

// InParts calls f for consecutive parts of [0, n), of LongRow elements except for the last one, on the calling goroutine. Before each part but the first
// it checks whether p is stopped.
func (p *Pool) InParts(n int, f func(lo, hi int)) { p.InPartsOf(n, LongRow, f) }

// InPartsOf is InParts with parts of another length.
func (p *Pool) InPartsOf(n, step int, f func(lo, hi int)) {
	if n <= step {
		f(0, n)
		return
	}
	for lo := 0; lo < n; lo += step {
		if lo > 0 {
			p.Check()
		}
		f(lo, min(n, lo+step))
	}
}

// Cut returns a pool of the caller only that splits every range into parts of n elements and computes the last part first. With it
// tests with few elements cover splits that otherwise need many.
func Cut(n int) *Pool { return &Pool{step: n} }

// inTurn calls f for consecutive parts of [lo, hi).
func (p *Pool) inTurn(lo, hi, grain int, f func(lo, hi int)) {
	if p != nil && p.step > 0 {
		for ; lo < hi; hi = max(lo, hi-p.step) {
			f(max(lo, hi-p.step), hi)
		}
		return
	}
	step := cutLarge
	if grain > 1 {
		step = cutGrains * grain
	}
	for ; lo < hi; lo += step {
		p.Check()
		f(lo, min(lo+step, hi))
	}
}

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
	// yieldAfter is after how many it also lets threads run that the system has put after
	// it. Those may be of other programs and stay for milliseconds, which is longer than
	// most loops take.
	yieldAfter = 1000
)

// relax passes the time between checks of what a thread waits for.
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
//
// A pool that [Pool.Stoppable] returned can be stopped, see [Pool.StopBy].
type Pool struct {
	*crew                  // nil: the caller alone
	owner  *Pool           // whose workers they are, kept alive
	serial *Pool           // see Serial
	done   <-chan struct{} // see StopBy
	step   int             // see Cut
}

// Stopped is what Run, Range and Check panic with once their pool is stopped.
type Stopped struct{}

func (Stopped) Error() string { return "kernel: stopped" }

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
	done    <-chan struct{} // of the pool that runs the current loop
	parked  []atomic.Bool
	wake    []chan struct{}
	panics  []any
}

// shut is what gate has besides the number of workers once there is nothing left to begin.
const shut = 1 << 31

var defaultPool = sync.OnceValue(func() *Pool { return NewPool(0) })

// Default returns the pool shared by everything that did not ask for one of its own; it
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
	p := &Pool{crew: c}
	runtime.AddCleanup(p, (*crew).end, c)
	return p
}

// Threads returns the number of threads that Run spreads over, at least 1.
func (p *Pool) Threads() int {
	if p == nil || p.crew == nil {
		return 1
	}
	return p.threads
}

// Stoppable returns a pool with the workers of p that can be stopped by itself; nil has none to share. It is for one user at a time.
func (p *Pool) Stoppable() *Pool {
	s := &Pool{serial: &Pool{}}
	if p != nil {
		s.crew, s.owner, s.step, s.serial.step = p.crew, p, p.step, p.step
	}
	return s
}

// StopBy sets the channel that stops a pool which Stoppable returned, nil is none. Once it is closed, Run and Range begin no
// task and panic with [Stopped] when those under way have ended. StopBy must not be called during a loop.
func (p *Pool) StopBy(done <-chan struct{}) { p.done, p.serial.done = done, done }

// Serial returns the calling goroutine alone, stopped as p is: for loops within tasks.
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
	runtime.KeepAlive(p) // or the workers would be stopped under way
}

// alone is Run on the calling goroutine.
func (p *Pool) alone(n int, f func(worker, i int)) {
	for i := range n {
		p.Check()
		f(0, i)
	}
}

// Each calls f once on each thread, on all of them at the same time.
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

// loop runs one parallel loop; the caller holds busy. It does not wait for workers that come so late that nothing is
// left for them.
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

// share runs the tasks of worker w, then those that the workers after it have not begun, and keeps
// what one panics with.
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

// enter reports whether there may still be something to do in the current loop.
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

// A call of what Range is given computes at most so many grains, about a millisecond, or so many elements where one is as
// much as a grain or more.
const (
	cutGrains = 64
	cutLarge  = 8
)

// Range splits [0, n) into contiguous pieces of at least grain elements, no more than there are threads, and calls
// f(lo, hi) for each, or for parts of it in turn where it is long. The parts depend on n, grain and the number of threads
// alone.
func (p *Pool) Range(n, grain int, f func(lo, hi int)) {
	grain = max(grain, 1)
	pieces := min(p.Threads(), n/grain)
	if pieces <= 1 {
		p.inTurn(0, n, grain, f)
		return
	}
	p.Run(pieces, func(_, i int) { p.inTurn(i*n/pieces, (i+1)*n/pieces, grain, f) })
}

// Cut returns a pool, the caller alone, that splits every range into parts of n elements and computes the last part first: for tests,
// which see with a few elements what many would need.
func Cut(n int) *Pool { return &Pool{step: n} }

// inTurn calls f for lo to hi, in parts.
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

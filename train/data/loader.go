package data

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/graft-ml/graft/internal/budget"
)

// BatchLoader goes through a set in batches. The zero value reads batches of 32 samples in order.
type BatchLoader struct {
	Batch   int  // samples in a batch; 0: 32
	Shuffle bool // shuffle in each epoch
	// Sampler returns the indices of the samples of an epoch, in order: n indices below n, of which some may be repeated
	// and others absent. nil: all samples, in the order that Shuffle selects.
	Sampler  func(n, epoch int) []int
	DropLast bool   // omit an incomplete last batch
	Seed     uint64 // seed of the order and of the samples
	Skip     int    // batches to skip at the start, for a resumed epoch
	Workers  int    // goroutines that load samples; 0: half of GOMAXPROCS, at least one
	Unit     int    // with DropLast: an incomplete last batch is reduced to a multiple of this many samples; 0: a batch, or a rank's shard
	Prefetch int    // batches to prepare ahead; 0: twice Workers

	// Ranks is the number of processes among which each batch is divided, and Rank the number of this one, from 0. Each
	// process prepares its own shard, consecutive samples of the batch. If the last batch is not full, the first shards are
	// filled first, and processes with an empty shard get batches without tensors. 0: there is one process.
	Rank, Ranks int
}

// batch returns the size of a batch, bounded so that its multiples are integers.
func (l BatchLoader) batch() int {
	if l.Batch <= 0 {
		return 32
	}
	return min(l.Batch, 1<<30)
}

// check returns an error for invalid settings.
func (l BatchLoader) check() error {
	for _, x := range []struct {
		name string
		n    int
	}{{"Batch", l.Batch}, {"Skip", l.Skip}, {"Workers", l.Workers}, {"Unit", l.Unit}, {"Prefetch", l.Prefetch}, {"Rank", l.Rank}, {"Ranks", l.Ranks}} {
		if x.n < 0 {
			return fmt.Errorf("data: %s is %d: want 0 or more", x.name, x.n)
		}
	}
	if l.Rank >= max(1, l.Ranks) {
		return fmt.Errorf("data: Rank is %d, but there are %d ranks, counted from 0", l.Rank, max(1, l.Ranks))
	}
	return nil
}

// Count returns the number of batches in an epoch of n samples, including skipped ones.
func (l BatchLoader) Count(n int) int {
	return (l.used(n) + l.batch() - 1) / l.batch()
}

// used returns the number of the n samples that an epoch uses; with DropLast, a multiple of the unit.
func (l BatchLoader) used(n int) int {
	switch {
	case !l.DropLast:
		return n
	case l.Unit > 0:
		return n - n%l.Unit
	}
	return n - n%max(1, l.batch()/max(1, l.Ranks))
}

// part returns this rank's shard of batch b of n samples.
func (l BatchLoader) part(b, n int) (from, to int) {
	size, ranks := l.batch(), max(1, l.Ranks)
	from, to = b*size+l.Rank*size/ranks, b*size+(l.Rank+1)*size/ranks
	return min(from, n), min(to, n)
}

// Batches yields the batches of an epoch, counted from 0. They have the same bytes with any number of workers. After an
// error, including a canceled context, the sequence ends. When it returns, all its goroutines have ended; a canceled
// context waits only for samples in progress.
func (l BatchLoader) Batches(ctx context.Context, s Dataset[Sample], epoch int) iter.Seq2[Sample, error] {
	return func(yield func(Sample, error) bool) {
		if err := l.check(); err != nil {
			yield(Sample{}, err)
			return
		}
		n := s.Len()
		order, err := l.order(n, epoch)
		if err != nil {
			yield(Sample{}, err)
			return
		}
		w := walk{s: s, seed: l.Seed, epoch: epoch}
		for b := l.Skip; b < l.Count(n); b++ {
			from, to := l.part(b, l.used(n))
			w.batches = append(w.batches, order[from:to])
		}
		workers := l.Workers
		if workers == 0 {
			workers = max(1, runtime.GOMAXPROCS(0)/2)
		}
		prefetch := l.Prefetch
		if prefetch == 0 {
			prefetch = 2 * workers
		}
		w.parallel(ctx, workers, prefetch, yield)
	}
}

// order returns the indices of the samples of an epoch.
func (l BatchLoader) order(n, epoch int) ([]int, error) {
	if l.Sampler != nil {
		order := l.Sampler(n, epoch)
		return order, drawn(order, n)
	}
	if l.Shuffle {
		return Order(n, l.Seed, epoch), nil
	}
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	return order, nil
}

// Indices returns the indices of the samples in a batch of an epoch of n samples, both counted from 0: with Ranks, of this process's shard.
func (l BatchLoader) Indices(n, epoch, batch int) ([]int, error) {
	if err := l.check(); err != nil {
		return nil, err
	}
	if count := l.Count(n); batch < 0 || batch >= count {
		return nil, fmt.Errorf("data: an epoch of %d samples has %d batches: there is no batch %d", n, count, batch)
	}
	order, err := l.order(n, epoch)
	if err != nil {
		return nil, err
	}
	from, to := l.part(batch, l.used(n))
	return order[from:to], nil
}

// drawn returns an error if the order from a sampler is invalid.
func drawn(order []int, n int) error {
	if len(order) != n {
		return fmt.Errorf("data: the sampler gives %d indices for %d samples: want as many", len(order), n)
	}
	for _, i := range order {
		if err := within(i, n); err != nil {
			return fmt.Errorf("%w: the sampler returned it", err)
		}
	}
	return nil
}

// walk is one epoch.
type walk struct {
	s       Dataset[Sample]
	batches [][]int
	seed    uint64
	epoch   int
}

type result struct {
	batch Sample
	err   error
}

// errLater is the result of a batch that is prepared when the consumer asks for it, since memory is short.
var errLater = errors.New("data: memory is short")

// ahead are the batches of one epoch that are prepared before the consumer asks for them.
type ahead struct {
	short   atomic.Bool  // memory is short: no more are
	reading sync.RWMutex // held for reading while one is prepared
	mu      sync.Mutex
	ready   map[chan result]bool // of batches that the consumer has not asked for yet
}

// drop ends preparing ahead, and releases what is ready.
func (a *ahead) drop() {
	a.short.Store(true)
	a.mu.Lock()
	defer a.mu.Unlock()
	for to := range a.ready {
		select {
		case r := <-to:
			if r.err == nil {
				r = result{err: errLater}
			}
			to <- r // it is buffered
		default:
		}
	}
}

// prepare is walk.prepare while memory is not short.
func (a *ahead) prepare(ctx context.Context, w walk, index []int) result {
	a.reading.RLock()
	defer a.reading.RUnlock()
	if a.short.Load() {
		return result{err: errLater}
	}
	return w.prepare(ctx, index)
}

// now returns r, or, if memory was short, the batch prepared when no other is.
func (a *ahead) now(ctx context.Context, w walk, index []int, r result) result {
	if _, full := errors.AsType[*budget.Error](r.err); !full && r.err != errLater {
		return r
	}
	a.drop()
	a.reading.Lock()
	defer a.reading.Unlock()
	a.drop() // what was being prepared
	to := make(chan result, 1)
	go func() { send(to, func() result { return w.prepare(ctx, index) }) }()
	return <-to
}

// send sends the result of prepare, or errEnded if that ends its goroutine.
func send(to chan<- result, prepare func() result) {
	r := result{err: errEnded}
	defer func() { to <- r }()
	r = prepare()
}

// walking are the epochs in progress.
var walking = struct {
	sync.Mutex
	all map[*ahead]bool
}{all: map[*ahead]bool{}}

func init() {
	budget.OnFull(func() {
		walking.Lock()
		defer walking.Unlock()
		for a := range walking.all {
			a.drop()
		}
	})
}

// newAhead returns an ahead that drops its batches when something does not fit in memory, until end.
func newAhead() (a *ahead, end func()) {
	a = &ahead{ready: map[chan result]bool{}}
	walking.Lock()
	defer walking.Unlock()
	walking.all[a] = true
	return a, func() {
		walking.Lock()
		defer walking.Unlock()
		delete(walking.all, a)
	}
}

// parallel sends each batch to a worker together with the channel for its
// result, and the same channel to the consumer, in order.
func (w walk) parallel(ctx context.Context, workers, prefetch int, yield func(Sample, error) bool) {
	type job struct {
		index []int
		to    chan result
	}
	ctx, cancel := context.WithCancel(ctx)
	var group sync.WaitGroup
	a, end := newAhead()
	defer end()
	defer group.Wait()
	defer cancel()

	jobs, queue := make(chan job), make(chan chan result, prefetch)
	group.Go(func() {
		defer close(queue)
		defer close(jobs)
		for _, index := range w.batches {
			to := make(chan result, 1) // buffered, so that a worker never waits for the consumer
			a.mu.Lock()
			a.ready[to] = true
			a.mu.Unlock()
			select {
			case queue <- to:
			case <-ctx.Done():
				return
			}
			select {
			case jobs <- job{index, to}:
			case <-ctx.Done():
				to <- result{err: ctx.Err()}
				return
			}
		}
	})
	for range workers {
		group.Go(func() {
			for j := range jobs {
				send(j.to, func() result { return a.prepare(ctx, w, j.index) })
			}
		})
	}
	for _, index := range w.batches {
		var r result
		if to, ok := <-queue; ok {
			a.mu.Lock()
			delete(a.ready, to)
			a.mu.Unlock()
			r = a.now(ctx, w, index, <-to)
		} else {
			r.err = ctx.Err()
		}
		if err := ctx.Err(); err != nil {
			r = result{err: err} // discards a batch that was ready before the cancellation
		}
		if !yield(r.batch, r.err) || r.err != nil {
			return
		}
	}
}

// errEnded is the error of a batch whose goroutine was ended.
var errEnded = errors.New("data: reading a sample has ended its goroutine by runtime.Goexit, as testing's FailNow and Fatal do, which are only for the goroutine of a test")

// prepare reads and stacks the samples of one batch. A panic of a set or of an
// image decoder becomes an error.
func (w walk) prepare(ctx context.Context, index []int) (r result) {
	if len(index) == 0 { // of another rank's batch
		return result{err: ctx.Err()}
	}
	at := -1
	defer func() {
		if p := recover(); p != nil {
			r = result{err: fmt.Errorf("data: sample %d: panic: %v, at %s", at, p, origin())}
		}
	}()
	var into *stack
	var padded []Sample
	for k, i := range index {
		if err := ctx.Err(); err != nil {
			return result{err: err}
		}
		at = i
		s, err := w.s.At(i, Rand(w.seed, w.epoch, i))
		if err != nil {
			return result{err: sampleError{i, err}}
		}
		if k == 0 && s.Pad == nil {
			if into, err = newStack(s, len(index), index); err != nil {
				return result{err: err}
			}
		}
		if into == nil {
			padded = append(padded, s)
		} else if err := into.put(s); err != nil {
			return result{err: err}
		}
	}
	if into != nil {
		return result{batch: into.batch}
	}
	r.batch, r.err = collate(padded, index)
	return r
}

// sampleError adds the index of the sample to an error.
type sampleError struct {
	i   int
	err error
}

func (e sampleError) Error() string {
	return fmt.Sprintf("data: sample %d: %s", e.i, strings.TrimPrefix(e.err.Error(), "data: "))
}

func (e sampleError) Unwrap() error { return e.err }

// origin returns the function and line where the running panic was raised.
func origin() string {
	pc := make([]uintptr, 32)
	frames := runtime.CallersFrames(pc[:runtime.Callers(3, pc)])
	for {
		f, more := frames.Next()
		if !strings.HasPrefix(f.Function, "runtime.") {
			return fmt.Sprintf("%s:%d", f.Function, f.Line)
		}
		if !more {
			return "an unknown place"
		}
	}
}

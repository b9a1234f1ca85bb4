package recurrent

import (
	"github.com/graft-ml/graft/internal/kernel"
	"github.com/graft-ml/graft/internal/kernel/matmul"
)

// stream is a slice [lo, hi) of the batch of a recurrent operator, whose elements are processed together,
// time step by time step. Each step runs on p.
type stream struct {
	*RNNShape
	p      *kernel.Pool
	lo, hi int
}

// streamRows is the minimum number of batch elements per thread: with fewer, the weights are read for
// too few products.
const streamRows = 4

// eachStream calls f for slices of the batch. Batch elements are independent, so that each thread
// processes a slice through the whole sequence without synchronization. If there are too few elements,
// the threads share each step instead; they also do if states are rounded, since the scale depends on the whole batch.
func eachStream(p *kernel.Pool, s *RNNShape, f func(b stream)) {
	if s.Batch == 0 {
		return
	}
	if s.Rounded || s.Batch < streamRows*p.Threads() {
		f(stream{s, p, 0, s.Batch})
		return
	}
	shards := max(1, min(p.Threads(), s.Batch/streamRows))
	p.Run(shards, func(_, i int) { f(stream{s, p.Serial(), i * s.Batch / shards, (i + 1) * s.Batch / shards}) })
}

// check checks now and then whether the pool is stopped, as a step may be too small for it.
func (b *stream) check(step int) {
	if step%1024 == 0 {
		b.p.Check()
	}
}

// rows returns a function that runs f for each batch element n that is active in a step, at time t. It is
// created once for all steps, which then allocate nothing.
func (b *stream) rows(work int, f func(step, n, t int)) func(step int) {
	at := 0
	part := func(lo, hi int) {
		for n := b.lo + lo; n < b.lo+hi; n++ {
			if t, ok := b.time(n, at); ok {
				f(at, n, t)
			}
		}
	}
	return func(step int) {
		at = step
		b.check(step)
		b.p.Range(b.hi-b.lo, max(1, kernel.FunctionGrain/max(1, work)), part)
	}
}

// streamProduct is c = x*r + beta*c for the rows of the stream in x, lda apart, and c, ldc apart.
func streamProduct[T kernel.Float](b *stream, x []T, lda int, r matmul.Packed[T], beta T, c []T, ldc int) {
	if b.lo < b.hi {
		matmul.GemmPacked(b.p, false, b.hi-b.lo, 1, x[b.lo*lda:], lda, r, beta, c[b.lo*ldc:], ldc)
	}
}

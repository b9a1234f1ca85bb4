package recurrent

import (
	"github.com/graft-ml/graft/internal/kernel"
	"github.com/graft-ml/graft/internal/kernel/matmul"
)

// stream is the batch elements from lo to hi of a recurrent operator, which go through time together,
// step by step. Steps are shared out on p.
type stream struct {
	*RNNShape
	p      *kernel.Pool
	lo, hi int
}

// streamRows is how many batch elements a thread takes at least: with fewer, the weights are read
// for too few products.
const streamRows = 4

// eachStream calls f for all of the batch. Batch elements do not depend on each other, so each thread
// takes some of them through the whole sequence, without meeting the others; where they are too few
// for that, the threads meet in each step.
func eachStream(p *kernel.Pool, s *RNNShape, f func(b stream)) {
	if s.Batch == 0 {
		return
	}
	if s.Batch < streamRows*p.Threads() {
		f(stream{s, p, 0, s.Batch})
		return
	}
	pieces := max(1, min(p.Threads(), s.Batch/streamRows))
	p.Run(pieces, func(_, i int) { f(stream{s, p.Serial(), i * s.Batch / pieces, (i + 1) * s.Batch / pieces}) })
}

// rows returns what runs f in a step for each batch element n that is active there, at time t. It is
// made once for all steps, which then make no garbage.
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
		b.p.Range(b.hi-b.lo, max(1, kernel.FunctionGrain/max(1, work)), part)
	}
}

// streamProduct is c = x*r + beta*c for the rows of the stream in x, lda apart, and c, ldc apart.
func streamProduct[T kernel.Float](b *stream, x []T, lda int, r matmul.Packed[T], beta T, c []T, ldc int) {
	if b.lo < b.hi {
		matmul.GemmPacked(b.p, false, b.hi-b.lo, 1, x[b.lo*lda:], lda, r, beta, c[b.lo*ldc:], ldc)
	}
}

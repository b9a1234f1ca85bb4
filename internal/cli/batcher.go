package cli

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"time"

	"github.com/graft-ml/graft/nn"
	"github.com/graft-ml/graft/nn/dtype"
	"gorgonia.org/tensor"
)

// batcher batches concurrent requests: samples of the same shapes that arrive within a short interval are run together.
type batcher struct {
	g     *nn.Graph
	names []string // of the outputs
	most  int      // samples in a batch
	wait  time.Duration
	queue chan *job
	ran   func(samples int, took time.Duration)
}

// job is the samples of one request.
type job struct {
	ctx  context.Context
	feed nn.Feed
	n    int
	out  nn.Feed
	err  error
	done chan struct{}
}

// errBusy is returned if the queue is full, or too many bodies are in memory.
var errBusy = errors.New("too many requests are waiting; try again later")

// errInternal is returned for a panic.
var errInternal = errors.New("an internal error, which the server has printed")

// run processes jobs until the context ends.
func (b *batcher) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case j := <-b.queue:
			b.serve(b.collect(ctx, j))
		}
	}
}

// collect waits briefly for more jobs.
func (b *batcher) collect(ctx context.Context, first *job) []*job {
	jobs, n := []*job{first}, first.n
	timer := time.NewTimer(b.wait)
	defer timer.Stop()
	for n < b.most {
		select {
		case j := <-b.queue:
			jobs, n = append(jobs, j), n+j.n
		case <-timer.C:
			return jobs
		case <-ctx.Done():
			return jobs
		}
	}
	return jobs
}

// serve runs jobs together, or one by one if their shapes differ or one of them fails.
func (b *batcher) serve(jobs []*job) {
	jobs = slices.DeleteFunc(jobs, func(j *job) bool {
		if j.err = j.ctx.Err(); j.err != nil {
			close(j.done)
		}
		return j.err != nil
	})
	if len(jobs) == 0 {
		return
	}
	if len(jobs) == 1 || protected(func() error { return b.together(jobs) }) != nil { // one of the jobs may be the cause
		for _, j := range jobs {
			b.alone(j)
		}
		return
	}
	for _, j := range jobs {
		close(j.done)
	}
}

// together runs jobs as one batch.
func (b *batcher) together(jobs []*job) error {
	var feeds []nn.Feed
	n := 0
	for _, j := range jobs {
		feeds, n = append(feeds, j.feed), n+j.n
	}
	feed, err := joinFeeds(feeds)
	if err != nil {
		return err
	}
	ctx, stop := whileAny(jobs)
	defer stop()
	start := time.Now()
	out, err := b.g.Eval(ctx, feed, b.names...)
	b.ran(n, time.Since(start))
	if err != nil {
		return err
	}
	return deal(out, jobs, n)
}

// whileAny returns a context that ends when those of all jobs have: a request that is canceled must not end the others.
func whileAny(jobs []*job) (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var waiting atomic.Int64
	waiting.Store(int64(len(jobs)))
	var stops []func() bool
	for _, j := range jobs {
		stops = append(stops, context.AfterFunc(j.ctx, func() {
			if waiting.Add(-1) == 0 {
				cancel()
			}
		}))
	}
	return ctx, func() {
		for _, stop := range stops {
			stop()
		}
		cancel()
	}
}

func (b *batcher) alone(j *job) {
	start := time.Now()
	j.err = protected(func() (err error) {
		j.out, err = b.g.Eval(j.ctx, j.feed, b.names...)
		return err
	})
	b.ran(j.n, time.Since(start))
	close(j.done)
}

// ask runs the model on a feed of n samples.
func (b *batcher) ask(ctx context.Context, feed nn.Feed, n int) (nn.Feed, error) {
	j := &job{ctx: ctx, feed: feed, n: n, done: make(chan struct{})}
	select {
	case b.queue <- j:
	default:
		return nil, errBusy
	}
	select {
	case <-j.done:
		return j.out, j.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// joinFeeds concatenates values of the same name along the first axis.
func joinFeeds(feeds []nn.Feed) (nn.Feed, error) {
	feed := nn.Feed{}
	for name, v := range feeds[0] {
		if s, ok := v.(*dtype.Strings); ok {
			if len(s.Dims) == 0 {
				return nil, errors.New("a text without an axis")
			}
			all := &dtype.Strings{Dims: slices.Clone(s.Dims)}
			all.Dims[0] = 0
			for _, f := range feeds {
				x, ok := f[name].(*dtype.Strings)
				if !ok || len(x.Dims) != len(s.Dims) || !slices.Equal(x.Dims[1:], s.Dims[1:]) {
					return nil, errors.New("texts of another shape")
				}
				all.Dims[0] += x.Dims[0]
				all.Elems = append(all.Elems, x.Elems...)
			}
			feed[name] = all
			continue
		}
		var list []*tensor.Dense
		for _, f := range feeds {
			d, ok := f[name].(*tensor.Dense)
			if !ok {
				return nil, errors.New("not a tensor")
			}
			list = append(list, d)
		}
		d, err := dtype.Join(list...)
		if err != nil {
			return nil, err
		}
		feed[name] = d
	}
	return feed, nil
}

// deal splits the outputs by job.
func deal(out nn.Feed, jobs []*job, n int) (err error) {
	at := 0
	for _, j := range jobs {
		rows := make([]int, j.n)
		for i := range rows {
			rows[i] = at + i
		}
		for _, v := range out {
			if s := v.Shape(); len(s) == 0 || s[0] != n {
				return errors.New("an output without a batch axis")
			}
		}
		if j.out, err = pick(out, rows); err != nil {
			return err
		}
		at += j.n
	}
	return nil
}

// pick returns the given rows of all values.
func pick(from nn.Feed, rows []int) (nn.Feed, error) {
	feed := nn.Feed{}
	for name, v := range from {
		switch v := v.(type) {
		case *tensor.Dense:
			feed[name] = dtype.Pick(v, 0, rows)
		case *dtype.Strings:
			feed[name] = pickStrings(v, rows)
		default:
			return nil, errors.New("a value that is not a tensor")
		}
	}
	return feed, nil
}

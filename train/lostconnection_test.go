package train_test

import (
	"context"
	"errors"
	"testing"

	"github.com/graft-ml/graft/optim"
	"github.com/graft-ml/graft/train"
)

// cutOff loses its connection at the call after so many.
type cutOff struct {
	train.Communicator
	left *int
}

var errCut = errors.New("the cable is cut")

func (c cutOff) next(f func() error) error {
	if *c.left--; *c.left < 0 {
		return errCut
	}
	return f()
}

func (c cutOff) AllReduce(x []float32) error {
	return c.next(func() error { return c.Communicator.AllReduce(x) })
}

func (c cutOff) AllReduceFloat64(x []float64) error {
	return c.next(func() error { return c.Communicator.AllReduceFloat64(x) })
}

func (c cutOff) Broadcast(b []byte, root int) error {
	return c.next(func() error { return c.Communicator.Broadcast(b, root) })
}

func (c cutOff) AllGather(b []byte) error {
	return c.next(func() error { return c.Communicator.AllGather(b) })
}

// A connection that is lost at any call is an error on all ranks: of a run, and of going on from a checkpoint.
func TestLostConnection(t *testing.T) {
	fit, val, dir := blobs(8, 1), blobs(4, 2), t.TempDir()
	config := quiet(train.Config{Batch: 4, EMA: 0.9, Rule: optim.Adam{}, ShardState: true, SyncBatchNorm: true, RestoreBest: true, Workers: 1})
	whole := func(c train.Config) error {
		tr, err := train.New(small(t), c)
		if err == nil {
			_, err = tr.Fit(context.Background(), fit, val)
		}
		if err == nil && c.Dir == "" {
			_, err = tr.Evaluate(context.Background(), val)
		}
		return err
	}
	run := func(f func(c train.Config) error, c train.Config, calls int) (errs []error, left int) {
		left = calls
		return together(2, func(rank int, comm train.Communicator) error {
			c := c
			if c.Communicator = comm; rank == 1 {
				c.Communicator = cutOff{comm, &left}
			}
			return f(c)
		}), left
	}
	saved := config
	saved.Dir = dir
	for what, f := range map[string]func(c train.Config) error{"run": whole, "resume": func(c train.Config) error {
		c.Dir, c.Resume = dir, true
		_, err := train.New(small(t), c)
		return err
	}} {
		if what == "resume" {
			if errs, _ := run(whole, saved, 1<<20); errs[0] != nil || errs[1] != nil {
				t.Fatal(errs)
			}
		}
		errs, left := run(f, config, 1<<20)
		if errs[0] != nil || errs[1] != nil {
			t.Fatal(what, errs)
		}
		for n := range 1<<20 - left {
			if errs, _ := run(f, config, n); errs[0] == nil || !errors.Is(errs[1], errCut) {
				t.Errorf("%s, call %d of %d: %v", what, n+1, 1<<20-left, errs)
			}
		}
	}
}

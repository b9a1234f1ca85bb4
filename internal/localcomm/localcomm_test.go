package localcomm_test

import (
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/graft-ml/graft/internal/localcomm"
)

func each(n int, f func(c *localcomm.Rank) error) []error {
	errs := make([]error, n)
	var group sync.WaitGroup
	for i, c := range localcomm.New(n) {
		group.Go(func() { errs[i] = f(c) })
	}
	group.Wait()
	return errs
}

func TestCalls(t *testing.T) {
	for rank, err := range each(3, func(c *localcomm.Rank) error {
		k := byte(c.Rank())
		x, y := []float32{float32(k), 1}, []float64{float64(k)}
		b, parts, to := []byte{k, 9}, make([]byte, 6), []byte{10*k + 0, 10*k + 1, 10*k + 2}
		parts[2*k], parts[2*k+1] = k, 100+k
		err := errors.Join(c.AllReduce(x), c.AllReduceFloat64(y), c.Broadcast(b, 2), c.AllGather(parts), c.AllToAll(to), c.Barrier())
		if !slices.Equal(x, []float32{3, 3}) || y[0] != 3 || b[0] != 2 || !slices.Equal(parts, []byte{0, 100, 1, 101, 2, 102}) || !slices.Equal(to, []byte{k, 10 + k, 20 + k}) {
			t.Errorf("rank %d: %v %v %v %v %v", k, x, y, b, parts, to)
		}
		return err
	}) {
		if err != nil {
			t.Errorf("rank %d: %v", rank, err)
		}
	}
}

// TestEnds checks that ranks that call different methods, or one that aborts, end all.
func TestEnds(t *testing.T) {
	for _, err := range each(3, func(c *localcomm.Rank) error { return c.AllReduce(make([]float32, 1+c.Rank())) }) {
		if err == nil || !strings.Contains(err.Error(), "while others call AllReduce of") {
			t.Error(err)
		}
	}
	for rank, err := range each(3, func(c *localcomm.Rank) error {
		if c.Rank() == 1 {
			c.Abort(errors.New("a fault"))
			return nil
		}
		return c.Barrier()
	}) {
		if rank != 1 && (!errors.Is(err, localcomm.ErrAborted) || !strings.Contains(err.Error(), "a fault")) {
			t.Errorf("rank %d: %v", rank, err)
		}
	}
}

// A ring over n ranks sends 2(n−1)/n of the bytes.
func TestNetwork(t *testing.T) {
	n := localcomm.Network{Latency: time.Millisecond, Bandwidth: 1e6}
	if got := n.AllReduce(4, 4e6); got != 6*time.Millisecond+6*time.Second {
		t.Error(got)
	}
	if got := n.AllGather(4, 4e6); got != 3*time.Millisecond+3*time.Second {
		t.Error(got)
	}
}

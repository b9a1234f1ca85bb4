// Package localcomm is a train.Communicator between goroutines of one process, for tests and to simulate networks.
package localcomm

import (
	"errors"
	"fmt"
	"sync"
)

// Rank is one goroutine's end.
type Rank struct {
	hub  *hub
	rank int
}

// New makes the ends of n ranks.
func New(n int) []*Rank {
	h := &hub{given: make([]any, n)}
	h.turn.L = &h.mu
	ranks := make([]*Rank, n)
	for i := range ranks {
		ranks[i] = &Rank{h, i}
	}
	return ranks
}

// hub is the meeting point of ranks: the last to arrive executes the call with the arguments of all.
type hub struct {
	mu    sync.Mutex
	turn  sync.Cond
	given []any
	what  string
	came  int
	round int
	err   error
}

// ErrAborted is wrapped by the errors of calls after an Abort.
var ErrAborted = errors.New("localcomm: aborted")

// meet waits until all ranks make the same call, and calls f once with their arguments.
func meet[T any](r *Rank, what string, x T, f func(all []T)) error {
	h := r.hub
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.err != nil {
		return h.err
	}
	if h.came > 0 && h.what != what {
		return h.end(fmt.Errorf("localcomm: rank %d calls %s while others call %s", r.rank, what, h.what))
	}
	h.what, h.given[r.rank] = what, x
	if h.came++; h.came < len(h.given) {
		for round := h.round; h.err == nil && h.round == round; {
			h.turn.Wait()
		}
		return h.err
	}
	all := make([]T, len(h.given))
	for i, g := range h.given {
		all[i] = g.(T)
	}
	f(all)
	h.came = 0
	h.round++
	h.turn.Broadcast()
	return nil
}

func (h *hub) end(err error) error {
	if h.err == nil {
		h.err = err
		h.turn.Broadcast()
	}
	return h.err
}

// Rank implements train.Communicator.
func (r *Rank) Rank() int { return r.rank }

// Size implements train.Communicator.
func (r *Rank) Size() int { return len(r.hub.given) }

// AllReduce adds in the order of the ranks.
func (r *Rank) AllReduce(x []float32) error {
	return meet(r, fmt.Sprint("AllReduce of ", len(x)), x, sum[float32])
}

// AllReduceFloat64 adds in the order of the ranks.
func (r *Rank) AllReduceFloat64(x []float64) error {
	return meet(r, fmt.Sprint("AllReduceFloat64 of ", len(x)), x, sum[float64])
}

func sum[F float32 | float64](all [][]F) {
	for _, x := range all[1:] {
		for i, v := range x {
			all[0][i] += v
		}
	}
	for _, x := range all[1:] {
		copy(x, all[0])
	}
}

// Broadcast implements train.Communicator.
func (r *Rank) Broadcast(b []byte, root int) error {
	return meet(r, fmt.Sprint("Broadcast of ", len(b), " from ", root), b, func(all [][]byte) {
		for _, x := range all {
			copy(x, all[root])
		}
	})
}

// AllGather implements train.Communicator.
func (r *Rank) AllGather(b []byte) error {
	if len(b)%r.Size() != 0 {
		return fmt.Errorf("localcomm: AllGather of %d bytes on %d ranks", len(b), r.Size())
	}
	return meet(r, fmt.Sprint("AllGather of ", len(b)), b, func(all [][]byte) {
		part := len(b) / len(all)
		for from, x := range all {
			for _, to := range all {
				copy(to[from*part:][:part], x[from*part:][:part])
			}
		}
	})
}

// AllToAll implements train.Communicator.
func (r *Rank) AllToAll(b []byte) error {
	if len(b)%r.Size() != 0 {
		return fmt.Errorf("localcomm: AllToAll of %d bytes on %d ranks", len(b), r.Size())
	}
	return meet(r, fmt.Sprint("AllToAll of ", len(b)), b, func(all [][]byte) {
		part := len(b) / len(all)
		for i := range all {
			for k := range i {
				x, y := all[i][k*part:][:part], all[k][i*part:][:part]
				for j := range x {
					x[j], y[j] = y[j], x[j]
				}
			}
		}
	})
}

// Barrier implements train.Communicator.
func (r *Rank) Barrier() error { return meet(r, "Barrier", 0, func([]int) {}) }

// Abort makes the calls of all ranks return an error that wraps ErrAborted and err.
func (r *Rank) Abort(err error) {
	r.hub.mu.Lock()
	defer r.hub.mu.Unlock()
	_ = r.hub.end(fmt.Errorf("%w: %w", ErrAborted, err)) // waiting calls return the error
}

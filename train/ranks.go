package train

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/graft-ml/graft/internal/budget"
)

// RankError is an error that all ranks of a run return from the same call, because one of them failed. Any other error
// of a run with a Communicator may be unknown to the other ranks: end them with Communicator.Abort.
type RankError struct {
	Rank int   // rank that failed; -1: all, with the same error
	Err  error // error of that rank; on other ranks an error with its text
	kind byte
}

// Error implements error.
func (e *RankError) Error() string {
	if e.Rank < 0 {
		return e.Err.Error()
	}
	return fmt.Sprintf("rank %d: %v", e.Rank, e.Err)
}

// Unwrap returns the error of the rank that failed.
func (e *RankError) Unwrap() error { return e.Err }

// told is the error of another rank.
type told struct {
	text string
	kind byte
}

func (t told) Error() string { return t.text }

// Is reports whether target is the context error, cancellation or deadline, of the other rank.
func (t told) Is(target error) bool {
	return t.kind == cancelled && target == context.Canceled || t.kind == late && target == context.DeadlineExceeded
}

// States of a rank.
const (
	well = byte(iota)
	failed
	cancelled
	late    // its deadline has passed
	stopped // by Config.OnStep
)

func kindOf(err error) byte {
	var h halted
	switch {
	case err == nil:
		return well
	case errors.Is(err, context.Canceled):
		return cancelled
	case errors.Is(err, context.DeadlineExceeded):
		return late
	case errors.As(err, &h):
		return stopped
	}
	return failed
}

// ranks wraps the Communicator of a process. One goroutine, locked to its thread, makes all calls of it. A nil *ranks is a
// process that trains alone.
type ranks struct {
	rank, size int
	comm       Communicator
	calls      chan<- call
}

type call struct {
	f    func(Communicator) error
	done chan<- error
}

// joined returns the ranks of c, nil if there is only this process. It is closed when owner is garbage-collected.
func joined[T any](c Communicator, owner *T) *ranks {
	if c == nil || c.Size() < 2 {
		return nil
	}
	calls := make(chan call, 64)
	go serve(c, calls)
	runtime.AddCleanup(owner, func(calls chan<- call) { close(calls) }, (chan<- call)(calls))
	return &ranks{rank: c.Rank(), size: c.Size(), comm: c, calls: calls}
}

// serve makes calls until the channel is closed; after an error it makes no more.
func serve(c Communicator, calls <-chan call) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var lost error
	for x := range calls {
		if lost == nil {
			lost = x.f(c)
		}
		x.done <- lost
	}
}

// start queues a call; the channel receives its error, or nil.
func (r *ranks) start(f func(Communicator) error) <-chan error {
	done := make(chan error, 1)
	r.calls <- call{f, done}
	return done
}

// do makes calls and waits for them.
func (r *ranks) do(f func(Communicator) error) error { return r.lost(<-r.start(f)) }

// lost records that the ranks may have diverged.
func (r *ranks) lost(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("train: rank %d of %d: the connection to the others is lost: %w", r.rank, r.size, err)
}

// first reports whether this process writes and prints.
func (r *ranks) first() bool { return r == nil || r.rank == 0 }

// agree synchronizes all ranks: if one of them has an error, all return it as a RankError.
func (r *ranks) agree(err error) error {
	if r == nil || errors.As(err, new(*RankError)) {
		return err
	}
	x := []float64{0}
	if err != nil {
		x[0] = 1
	}
	if e := r.do(func(c Communicator) error { return c.AllReduceFloat64(x) }); e != nil {
		return errors.Join(err, e)
	}
	if x[0] == 0 {
		return nil
	}
	return r.explain(err)
}

// longest is the maximum length of an error's text on other ranks, in bytes.
const longest = 1024

// explain sends the error of the first rank that has one to all ranks; at least one rank has one.
func (r *ranks) explain(err error) error {
	const block = longest + 3
	b := make([]byte, r.size*block)
	own := b[r.rank*block:][:block]
	if own[0] = kindOf(err); err != nil {
		text := err.Error()
		text = text[:min(len(text), longest)]
		binary.LittleEndian.PutUint16(own[1:], uint16(len(text)))
		copy(own[3:], text)
	}
	if e := r.do(func(c Communicator) error { return c.AllGather(b) }); e != nil {
		return errors.Join(err, e)
	}
	var e *RankError
	same := 0
	for k := range r.size {
		x := b[k*block:][:block]
		if x[0] == well {
			continue
		}
		t := told{string(x[3:][:binary.LittleEndian.Uint16(x[1:])]), x[0]}
		if e == nil {
			e = &RankError{Rank: k, Err: t, kind: t.kind}
		}
		if t == e.Err {
			same++
		}
	}
	if e == nil {
		return errors.New("train: another rank failed without an error message: see its output")
	}
	if same == r.size {
		e.Rank = -1
	}
	if e.Rank == r.rank || e.Rank < 0 {
		e.Err = err
	}
	return e
}

// everywhere returns an error that all ranks come to by themselves, from what they share, as one that agree returned.
func (r *ranks) everywhere(err error) error {
	if r == nil || err == nil {
		return err
	}
	return &RankError{Rank: -1, Err: err, kind: kindOf(err)}
}

// share sends a block of bytes of any length from rank 0 to all ranks.
func (r *ranks) share(b []byte) ([]byte, error) {
	if r == nil {
		return b, nil
	}
	n := binary.LittleEndian.AppendUint64(nil, uint64(len(b)))
	if err := r.do(func(c Communicator) error { return c.Broadcast(n, 0) }); err != nil {
		return nil, err
	}
	var err error
	if r.rank > 0 {
		b, err = budget.Bytes(int(binary.LittleEndian.Uint64(n)))
	}
	if err := r.agree(err); err != nil {
		return nil, err
	}
	if len(b) == 0 {
		return b, nil
	}
	return b, r.do(func(c Communicator) error { return c.Broadcast(b, 0) })
}

// spread overwrites blocks of memory, of equal sizes on all ranks, with those of rank 0.
func (r *ranks) spread(blocks ...[]byte) error {
	if r == nil {
		return nil
	}
	return r.do(func(c Communicator) error {
		for _, b := range blocks {
			if len(b) == 0 {
				continue
			}
			if err := c.Broadcast(b, 0); err != nil {
				return err
			}
		}
		return nil
	})
}

// gather sends the blocks of each rank, of any lengths, to all ranks.
func (r *ranks) gather(b []byte) ([][]byte, error) {
	n := make([]byte, 8*r.size)
	binary.LittleEndian.PutUint64(n[8*r.rank:], uint64(len(b)))
	if err := r.do(func(c Communicator) error { return c.AllGather(n) }); err != nil {
		return nil, err
	}
	most := 0
	for k := range r.size {
		most = max(most, int(binary.LittleEndian.Uint64(n[8*k:])))
	}
	all := make([]byte, r.size*most)
	copy(all[r.rank*most:], b)
	if most > 0 {
		if err := r.do(func(c Communicator) error { return c.AllGather(all) }); err != nil {
			return nil, err
		}
	}
	blocks := make([][]byte, r.size)
	for k := range blocks {
		blocks[k] = all[k*most:][:binary.LittleEndian.Uint64(n[8*k:])]
	}
	return blocks, nil
}

// guard is deferred if a panic, or the exit of the goroutine, would leave the other ranks waiting: it ends the run on all of
// them unless done is set.
func (r *ranks) guard(done *bool) {
	if r == nil || *done {
		return
	}
	x := recover()
	if x == nil {
		r.comm.Abort(fmt.Errorf("train: rank %d: its goroutine has ended", r.rank))
		return
	}
	r.comm.Abort(fmt.Errorf("train: rank %d: panic: %v\n%s", r.rank, x, debug.Stack()))
	panic(x)
}

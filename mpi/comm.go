//go:build linux || darwin

package mpi

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/graft-ml/graft/train"
)

// A Comm is MPI's world communicator: all processes that were started together. Its methods may be called from any
// goroutine; calls that overlap wait for one another, in no particular order, so the order of calls is the caller's to
// keep.
type Comm struct {
	lib        *library
	rank, size int

	mu     sync.Mutex // held during a call
	calls  chan func()
	closed bool
	buffer []byte
	pinned runtime.Pinner
}

var _ train.Communicator = (*Comm)(nil)

// bufferSize is how much is sent at a time, in bytes: enough for the bandwidth of fast networks, and far below the 2³¹
// elements that a count of MPI holds.
const bufferSize = 16 << 20

var started atomic.Bool // MPI starts once in a process

// Connect loads the MPI library and starts MPI. It returns on all ranks or, if a rank is missing, not at all. A
// program can connect once; it must call Close at its end.
func Connect() (*Comm, error) {
	if started.Swap(true) {
		return nil, errors.New("mpi: already connected: MPI starts once in a process")
	}
	from := launched()
	c := &Comm{calls: make(chan func())}
	ready := make(chan error)
	go c.serve(from, ready)
	if err := <-ready; err != nil {
		return nil, err
	}
	return c, nil
}

// serve makes all calls of the library, on one thread.
func (c *Comm) serve(from launch, ready chan<- error) {
	runtime.LockOSThread()
	if err := c.start(from); err != nil {
		ready <- err
		return
	}
	ready <- nil
	for call := range c.calls {
		call()
	}
}

func (c *Comm) start(from launch) error {
	handlers := signalHandlers() // libraries set theirs when they are loaded, or when MPI starts
	defer handlers.restore()
	lib, err := open(candidates(from.first))
	if err != nil {
		return err
	}
	// Ranks that wait poll; they leave the processor to those that compute. Whoever has set these keeps them.
	for name, value := range map[string]string{"OMPI_MCA_mpi_yield_when_idle": "1"} {
		if _, set := os.LookupEnv(name); !set {
			os.Setenv(name, value)
		}
	}
	var provided, rank, size int32
	if err := lib.err("MPI_Init_thread", lib.initThread(0, 0, lib.funneled, &provided)); err != nil {
		return err
	}
	if provided < lib.funneled {
		return fmt.Errorf("mpi: %s (%s) was built without support for threads: graft needs MPI_THREAD_FUNNELED", lib.path, lib.label)
	}
	if err := lib.err("MPI_Comm_set_errhandler", lib.setErrhandler(lib.world, lib.errorsReturn)); err != nil {
		return err
	}
	if err := lib.err("MPI_Comm_rank", lib.commRank(lib.world, &rank)); err != nil {
		return err
	}
	if err := lib.err("MPI_Comm_size", lib.commSize(lib.world, &size)); err != nil {
		return err
	}
	if size == 1 && from.size > 1 {
		return fmt.Errorf("mpi: %s started %d processes, but %s (%s) sees only this one: it is the library of another MPI; GRAFT_MPI=/path/to/library names the right one",
			from.by, from.size, lib.path, lib.label)
	}
	c.lib, c.rank, c.size = lib, int(rank), int(size)
	if size > 1 {
		c.buffer = make([]byte, max(bufferSize, 1024*c.size))
		c.pinned.Pin(unsafe.SliceData(c.buffer))
	}
	return nil
}

// Rank is this process's number, from 0.
func (c *Comm) Rank() int { return c.rank }

// Size returns the number of processes.
func (c *Comm) Size() int { return c.size }

// Library returns the file and the version text of the MPI library.
func (c *Comm) Library() string { return fmt.Sprintf("%s (%s)", c.lib.path, c.lib.label) }

// call runs f on the thread of MPI, and returns the error of its code.
func (c *Comm) call(what func() string, f func() int32) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return errors.New("mpi: " + what() + " after Close")
	}
	answer := make(chan error, 1)
	c.calls <- func() {
		code := f()
		if code == 0 {
			answer <- nil
			return
		}
		answer <- c.lib.err(fmt.Sprintf("rank %d of %d: %s", c.rank, c.size, what()), code)
	}
	return <-answer
}

// Barrier returns when all ranks have called it.
func (c *Comm) Barrier() error {
	return c.call(func() string { return "Barrier" }, func() int32 { return c.lib.barrier(c.lib.world) })
}

// Close ends MPI, when all ranks have called it. It is to be called before the process exits.
func (c *Comm) Close() error {
	return c.call(func() string { return "Close" }, func() int32 {
		c.closed = true
		close(c.calls)
		return c.lib.finalize()
	})
}

// abortDelay is how long a rank that fails waits before it ends the others: where all fail for the same reason, each
// gets to say so.
const abortDelay = 300 * time.Millisecond

// Abort prints err with the rank to standard error and ends the processes of all ranks with status 1. It does not return.
func (c *Comm) Abort(err error) {
	fmt.Fprintf(os.Stderr, "graft: rank %d of %d: %v\n", c.rank, c.size, err)
	time.Sleep(abortDelay)
	abort := func() { c.lib.abort(c.lib.world, 1) }
	if c.mu.TryLock() && !c.closed {
		c.calls <- abort
		time.Sleep(5 * time.Second) // the call ends the process
	} else {
		abort() // the thread of MPI waits in a call that the others may never make
	}
	os.Exit(1)
}

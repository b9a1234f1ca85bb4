//go:build linux

package mpi

import (
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/graft-ml/graft/mpi/internal/mpitest"
)

func init() {
	// Faults of Go code are panics, on a goroutine of its own and on the thread of MPI.
	roles["nil"] = func(c *Comm) error {
		now := signalHandlers()
		for signal, action := range goHandlers {
			if action[0] != 0 && action != now[signal] {
				return fmt.Errorf("the handler of signal %d is %x, was %x before MPI started", signal, now[signal], action)
			}
		}
		fault := func() (err error) {
			defer func() { err, _ = recover().(error) }()
			var p *Comm
			p.rank = 1
			return nil
		}
		faults := make(chan error)
		go func() { faults <- fault() }()
		c.call(func() string { return "" }, func() int32 {
			go func() { faults <- nil }()
			if err := fault(); err == nil {
				return 1
			}
			return 0
		})
		for range 2 {
			if err := <-faults; err != nil {
				say("recovered: %v", err)
			}
		}
		return c.Barrier()
	}
	// A signal reaches Go whichever thread the system delivers it to, threads of the library included.
	roles["threads"] = func(c *Comm) error {
		got := make(chan os.Signal, 1)
		signal.Notify(got, syscall.SIGUSR1, syscall.SIGINT)
		threads, err := os.ReadDir("/proc/self/task")
		if err != nil {
			return err
		}
		for _, thread := range threads {
			id, _ := strconv.Atoi(thread.Name())
			for _, s := range []syscall.Signal{syscall.SIGUSR1, syscall.SIGINT} {
				if _, _, e := syscall.RawSyscall(syscall.SYS_TGKILL, uintptr(os.Getpid()), uintptr(id), uintptr(s)); e == syscall.ESRCH {
					continue // a thread that has ended
				}
				select {
				case r := <-got:
					if r != s {
						return fmt.Errorf("thread %d: got %v, want %v", id, r, s)
					}
				case <-time.After(10 * time.Second):
					return fmt.Errorf("thread %d: %v did not arrive", id, s)
				}
			}
		}
		say("%d threads", len(threads))
		return c.Barrier()
	}
	// The Go runtime goes on while ranks wait for one: collections of garbage, which stop all goroutines, and signals.
	roles["slow"] = func(c *Comm) error {
		if c.Rank() == 0 {
			for range 20 {
				time.Sleep(10 * time.Millisecond)
			}
			return c.Barrier()
		}
		done := make(chan error)
		go func() { done <- c.Barrier() }()
		got := make(chan os.Signal, 1)
		signal.Notify(got, os.Interrupt)
		for i := range 10 {
			runtime.GC()
			syscall.Kill(os.Getpid(), syscall.SIGINT)
			select {
			case <-got:
			case <-time.After(10 * time.Second):
				return fmt.Errorf("signal %d did not arrive", i)
			}
		}
		return <-done
	}
	// A panic that nobody recovers ends the run with its trace.
	roles["panic"] = func(c *Comm) error {
		if c.Rank() == 1 {
			var p *Comm
			p.rank = 1
		}
		return c.Barrier()
	}
	// Interrupts of a rank that handles none end it, and the run.
	roles["interrupted"] = func(c *Comm) error {
		if c.Rank() == 1 {
			syscall.Kill(os.Getpid(), syscall.SIGINT)
		}
		return c.Barrier()
	}
}

var goHandlers = signalHandlers()

func TestSignals(t *testing.T) {
	mpitest.Each(t, []int{2}, func(t *testing.T, l mpitest.Launcher, n int) {
		if out := succeed(t, l, n, "nil"); strings.Count(out, "recovered: runtime error: invalid memory address") != n {
			t.Error(out)
		}
		succeed(t, l, n, "threads")
		succeed(t, l, n, "slow")
		job := start(t, l, n, "panic")
		if r := job.Wait(t); r.Status == 0 || !strings.Contains(r.Out, "panic: runtime error: invalid memory address") || !strings.Contains(r.Out, "goroutine ") {
			t.Errorf("status %d:\n%s", r.Status, r.Out)
		}
		job = start(t, l, n, "interrupted")
		if r := job.Wait(t); r.Status == 0 {
			t.Errorf("status 0:\n%s", r.Out)
		}
	})
}

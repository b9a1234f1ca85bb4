//go:build linux || darwin

package mpi

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/graft-ml/graft/mpi/internal/mpitest"
)

func init() {
	roles["abort"] = func(c *Comm) error {
		if c.Rank() == 1 {
			c.Abort(errors.New("the data are gone"))
		}
		return c.Barrier() // which rank 1 does not reach
	}
	roles["abort-all"] = func(c *Comm) error {
		c.Abort(errors.New("no such file"))
		return nil
	}
	roles["abort-busy"] = func(c *Comm) error { // while the thread of MPI waits
		if c.Rank() == 1 {
			go c.Barrier()
			time.Sleep(100 * time.Millisecond)
			c.Abort(errors.New("no memory"))
		}
		time.Sleep(mpitest.Limit)
		return nil
	}
	roles["killed"] = func(c *Comm) error {
		x := make([]float32, 1000)
		for i := 0; ; i++ {
			if i == 100 && c.Rank() == 1 {
				say("killed")
				syscall.Kill(os.Getpid(), syscall.SIGKILL)
			}
			if err := c.AllReduce(x); err != nil {
				return err
			}
		}
	}
	roles["exit"] = func(c *Comm) error { // without a word to the others
		if c.Rank() == 1 {
			os.Exit(7)
		}
		return c.Barrier()
	}
	roles["wait"] = func(c *Comm) error {
		if err := c.Barrier(); err != nil {
			return err
		}
		say("ready")
		if c.Rank() == 1 {
			time.Sleep(mpitest.Limit)
		}
		return c.Barrier()
	}
	roles["uneven"] = func(c *Comm) error {
		if err := c.AllGather(make([]byte, 2*c.Size()+1)); err == nil {
			return errors.New("AllGather took a length that is not a multiple")
		} else {
			say("%v", err)
		}
		if err := c.AllToAll(make([]byte, 2*c.Size()+1)); err == nil {
			return errors.New("AllToAll took a length that is not a multiple")
		}
		if err := c.Broadcast(nil, c.Size()); err == nil {
			return errors.New("Broadcast took a root that is not there")
		} else {
			say("%v", err)
		}
		if _, err := Connect(); err == nil {
			return errors.New("connected twice")
		}
		closed := make(chan error, 4) // once, whoever else does
		for range cap(closed) {
			go func() { closed <- c.Close() }()
		}
		ends := 0
		for range cap(closed) {
			if err := <-closed; err == nil {
				ends++
			} else if err.Error() != "mpi: Close after Close" {
				return err
			}
		}
		if ends != 1 {
			return fmt.Errorf("MPI ended %d times", ends)
		}
		if err := c.Barrier(); err == nil {
			return errors.New("a call after Close")
		} else {
			say("%v", err)
		}
		os.Exit(0)
		return nil
	}
	roles["mpi-error"] = func(c *Comm) error { // what the library says of a mistake comes back as an error
		err := c.call(func() string { return "Broadcast" }, func() int32 {
			return c.lib.bcast(address(c.buffer), 1, c.lib.bytes, 99, c.lib.world)
		})
		if err == nil {
			return errors.New("a broadcast from rank 99 went well")
		}
		say("%v", err)
		return nil
	}
}

func TestFaults(t *testing.T) {
	for _, x := range []struct {
		role  string
		says  string
		times func(n int) int
	}{
		{"abort", "graft: rank 1 of %d: the data are gone\n", func(int) int { return 1 }},
		{"abort-all", "of %d: no such file\n", func(n int) int { return n }},
		{"abort-busy", "graft: rank 1 of %d: no memory\n", func(int) int { return 1 }},
		{"killed", "killed\n", func(int) int { return 1 }},
		{"exit", "", nil},
	} {
		t.Run(x.role, func(t *testing.T) {
			mpitest.Each(t, []int{2, 4}, func(t *testing.T, l mpitest.Launcher, n int) {
				job := start(t, l, n, x.role)
				r := job.Wait(t)
				if r.Status == 0 {
					t.Errorf("status 0:\n%s", r.Out)
				}
				if x.times == nil {
					return
				}
				if says := strings.ReplaceAll(x.says, "%d", fmt.Sprint(n)); strings.Count(r.Out, says) != x.times(n) {
					t.Errorf("want %q %d times:\n%s", says, x.times(n), r.Out)
				}
			})
		})
	}
}

func TestErrors(t *testing.T) {
	mpitest.Each(t, []int{2}, func(t *testing.T, l mpitest.Launcher, n int) {
		out := succeed(t, l, n, "uneven")
		for _, want := range []string{
			"mpi: AllGather of 5 bytes: not a multiple of the number of ranks, 2\n", "mpi: Broadcast from rank 2 of 2\n", "mpi: Barrier after Close\n",
		} {
			if strings.Count(out, want) != n {
				t.Errorf("want %q from each rank:\n%s", want, out)
			}
		}
		out = succeed(t, l, n, "mpi-error")
		if strings.Count(out, "mpi: rank 0 of 2: Broadcast: ") != 1 || strings.Count(out, "oot") < n {
			t.Errorf("want the library's words:\n%s", out)
		}
	})
}

// TestInterrupt checks Ctrl-C in the launcher's terminal while one rank waits in MPI and the other in Go.
func TestInterrupt(t *testing.T) {
	mpitest.Each(t, []int{2}, func(t *testing.T, l mpitest.Launcher, n int) {
		job := start(t, l, n, "wait")
		job.Await(t, "ready\n", n)
		job.Interrupt()
		if r := job.Wait(t); r.Status == 0 && l.Library != "MPICH" { // whose launcher may end with 0 when it was interrupted itself
			t.Errorf("status 0:\n%s", r.Out)
		}
	})
}

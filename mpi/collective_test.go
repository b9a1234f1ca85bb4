//go:build linux || darwin

package mpi

import (
	"bytes"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/graft-ml/graft/mpi/internal/mpitest"
)

func init() {
	roles["collective"] = func(c *Comm) error {
		const small = 8000 // so that many rounds are gone through, the last of them in part
		whole := c.buffer
		for _, buffer := range [][]byte{whole, whole[:min(len(whole), small+24*c.size)]} {
			c.buffer = buffer
			for _, n := range []int{0, 1, 3, 1000, 1001, small/4 + 1, small + 7} {
				if err := checkCollectives(c, n); err != nil {
					return fmt.Errorf("%d elements, a buffer of %d: %w", n, len(buffer), err)
				}
			}
		}
		c.buffer = whole
		if err := checkCollectives(c, len(whole)/4+3); err != nil {
			return err
		}
		say("rank %d of %d: %s", c.Rank(), c.Size(), c.Library())
		return nil
	}
}

// value returns what rank k has in place i: small whole numbers, whose sums are exact in any order.
func value(k, i int) int { return (i*7+k*13)%101 - 50 }

func checkCollectives(c *Comm, n int) error {
	x, y := make([]float32, n), make([]float64, n)
	for i := range x {
		x[i], y[i] = float32(value(c.rank, i)), float64(value(c.rank, i))/8
	}
	if err := c.AllReduce(x); err != nil {
		return err
	}
	if err := c.AllReduceFloat64(y); err != nil {
		return err
	}
	for i := range x {
		sum := 0
		for k := range c.size {
			sum += value(k, i)
		}
		if x[i] != float32(sum) || y[i] != float64(sum)/8 {
			return fmt.Errorf("AllReduce: element %d is %v and %v, want %d and its eighth", i, x[i], y[i], sum)
		}
	}
	for root := range c.size {
		b := make([]byte, n)
		if c.rank == root {
			fill(b, root, 0)
		}
		want := make([]byte, n)
		fill(want, root, 0)
		if err := c.Broadcast(b, root); err != nil {
			return err
		}
		if !bytes.Equal(b, want) {
			return fmt.Errorf("Broadcast from %d differs", root)
		}
	}
	gathered, exchanged := make([]byte, n*c.size), make([]byte, n*c.size)
	want := make([]byte, n*c.size)
	fill(gathered[c.rank*n:][:n], c.rank, 0)
	for k := range c.size {
		fill(exchanged[k*n:][:n], c.rank, k)
		fill(want[k*n:][:n], k, 0)
	}
	if err := c.AllGather(gathered); err != nil {
		return err
	}
	if !bytes.Equal(gathered, want) {
		return fmt.Errorf("AllGather differs")
	}
	if err := c.AllToAll(exchanged); err != nil {
		return err
	}
	for k := range c.size {
		fill(want[k*n:][:n], k, c.rank)
	}
	if !bytes.Equal(exchanged, want) {
		return fmt.Errorf("AllToAll differs")
	}
	return c.Barrier()
}

// fill writes bytes that depend on two ranks and on the place.
func fill(b []byte, from, to int) {
	for i := range b {
		b[i] = byte(i>>8 ^ i + 31*from + 17*to)
	}
}

func TestCollectives(t *testing.T) {
	mpitest.Each(t, []int{1, 2, 4}, func(t *testing.T, l mpitest.Launcher, n int) {
		out := succeed(t, l, n, "collective")
		for k := range n {
			if want := fmt.Sprintf("rank %d of %d: ", k, n); strings.Count(out, want) != 1 {
				t.Errorf("want one line %q:\n%s", want, out)
			}
		}
		if strings.Count(out, "("+l.Library) != n {
			t.Errorf("want the library %s:\n%s", l.Library, out)
		}
	})
}

func init() {
	// Sums that depend on the order are those in the order of the ranks, on all ranks.
	roles["bits"] = func(c *Comm) error {
		h := fnv.New64a()
		for _, n := range []int{1, 5, 1023, 70_001, 3_000_000} {
			var x, sum []float32
			var y, sums []float64
			for k := range c.size {
				r := rand.New(rand.NewPCG(uint64(k), uint64(n)))
				u, v := make([]float32, n), make([]float64, n)
				for i := range u {
					v[i] = r.NormFloat64()
					u[i] = float32(v[i])
				}
				if k == c.rank {
					x, y = slices.Clone(u), slices.Clone(v)
				}
				if k == 0 {
					sum, sums = u, v
					continue
				}
				for i := range u {
					sum[i] += u[i]
					sums[i] += v[i]
				}
			}
			if err := c.AllReduce(x); err != nil {
				return err
			}
			if err := c.AllReduceFloat64(y); err != nil {
				return err
			}
			if !slices.Equal(x, sum) || !slices.Equal(y, sums) {
				return fmt.Errorf("%d numbers are not added in the order of the ranks", n)
			}
			h.Write(bytesOf(x))
		}
		say("sum %016x", h.Sum64())
		return nil
	}
}

func TestSumsAreTheSameBits(t *testing.T) {
	mpitest.Each(t, []int{2, 4}, func(t *testing.T, l mpitest.Launcher, n int) {
		var sums []string
		for range 2 {
			for line := range strings.Lines(succeed(t, l, n, "bits")) {
				if strings.HasPrefix(line, "sum ") {
					sums = append(sums, line)
				}
			}
		}
		if len(sums) != 2*n {
			t.Fatalf("%d sums, want %d", len(sums), 2*n)
		}
		for _, s := range sums {
			if s != sums[0] {
				t.Errorf("%q and %q", s, sums[0])
			}
		}
	})
}

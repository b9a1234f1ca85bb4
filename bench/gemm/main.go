//go:build linux

// Command gemm times matrix products for compare.py beside it, which times the same with NumPy and
// PyTorch in turn. It reads lines "m k n transA transB" and answers each with the best rate in
// GFLOP/s that it saw.
package main

import (
	"bufio"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"time"

	"github.com/graft-ml/graft/bench/pin"
	"github.com/graft-ml/graft/internal/kernel"
	"github.com/graft-ml/graft/internal/kernel/matmul"
	"golang.org/x/sys/unix"
)

func main() {
	threads := flag.Int("threads", 1, "")
	each := flag.Duration("each", 100*time.Millisecond, "how long to try")
	flag.Parse()
	runtime.LockOSThread()
	pool := kernel.NewPool(*threads)
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		var m, k, n, ta, tb int
		if _, err := fmt.Sscan(in.Text(), &m, &k, &n, &ta, &tb); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		fmt.Printf("%.2f\n", rate(pool, m, k, n, ta == 1, tb == 1, *each))
	}
}

func rate(p *kernel.Pool, m, k, n int, ta, tb bool, each time.Duration) float64 {
	a, b, c := fill(m*k), fill(k*n), make([]float32, m*n)
	lda, ldb := k, n
	if ta {
		lda = m
	}
	if tb {
		ldb = k
	}
	best := int64(1 << 62)
	for start := time.Now(); time.Since(start) < each; {
		if p.Threads() > 1 {
			pin.Threads(p)
		}
		from := clock(p.Threads())
		matmul.Gemm(p, ta, tb, m, n, k, 1, a, lda, b, ldb, 0, c, n)
		best = min(best, clock(p.Threads())-from)
	}
	return 2 * float64(m) * float64(n) * float64(k) / float64(best)
}

// clock is processor time with one thread, so that other processes do not count.
func clock(threads int) int64 {
	var t unix.Timespec
	id := int32(unix.CLOCK_THREAD_CPUTIME_ID)
	if threads > 1 {
		id = unix.CLOCK_MONOTONIC
	}
	_ = unix.ClockGettime(id, &t)
	return t.Nano()
}

func fill(n int) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = rand.Float32()
	}
	return x
}

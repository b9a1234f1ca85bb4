package kerneltest

import (
	"runtime"
	"testing"
	"time"

	"github.com/graft-ml/graft/internal/kernel"
)

// Yardstick is something the machine can do at most: a piece of work, and how much it is.
type Yardstick struct {
	Name string // of the share that benchmarks report
	Unit string // of the rate
	Work float64
	Run  func(worker int)
}

// FmaPeak does multiply-adds on registers and nothing else, with the widest vectors in use.
func FmaPeak() Yardstick {
	const turns = 4000
	y := Yardstick{Name: "%peak", Unit: "GFLOP/s", Work: 2 * 24 * turns}
	switch {
	case kernel.AVX512:
		y.Work *= 16
		y.Run = func(int) { fma16(turns) }
	case kernel.SIMD:
		y.Work *= 8
		y.Run = func(int) { fma8(turns) }
	default:
		y.Work = 2 * 8 * turns
		y.Run = func(int) {
			const a, b = 0.5, 0.25
			var s [8]float32
			for range turns {
				for i := range s {
					s[i] = s[i]*a + b
				}
			}
			runtime.KeepAlive(s)
		}
	}
	return y
}

// Compare reports at which rate f does its work, and which share that is of what the same threads
// reach on the yardstick. Both are run in turn, and the fastest of each counts: other processes
// slow both down, but not for ever. It returns the time of the fastest.
func (y Yardstick) Compare(b *testing.B, p *kernel.Pool, work float64, f func()) time.Duration {
	const atLeast = 60 * time.Millisecond
	best := func(so time.Duration, f func()) time.Duration {
		start := time.Now()
		f()
		return min(so, time.Since(start))
	}
	threads := p.Threads()
	peak, got := time.Duration(1<<62), time.Duration(1<<62)
	yard := func() { p.Run(threads, func(w, _ int) { y.Run(w) }) }
	for start, turns := time.Now(), 0; turns < 5 || time.Since(start) < atLeast; turns++ {
		peak, got = best(peak, yard), best(best(got, f), f)
	}
	rate := work / float64(got)
	b.ReportMetric(rate, y.Unit)
	b.ReportMetric(100*rate/(float64(threads)*y.Work/float64(peak)), y.Name)
	return got
}

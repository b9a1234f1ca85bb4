package kernel

import (
	"runtime"
	"testing"
	"time"
)

// yardstick is something the machine can do at most: a piece of work, and how much it is.
type yardstick struct {
	name string // of the share that benchmarks report
	unit string // of the rate
	work float64
	run  func(worker int)
}

// fmaPeak does multiply-adds on registers and nothing else, with the widest vectors in use.
func fmaPeak() yardstick {
	const turns = 4000
	y := yardstick{name: "%peak", unit: "GFLOP/s", work: 2 * 24 * turns}
	switch {
	case avx512:
		y.work *= 16
		y.run = func(int) { fma16(turns) }
	case simd:
		y.work *= 8
		y.run = func(int) { fma8(turns) }
	default:
		y.work = 2 * 8 * turns
		y.run = func(int) {
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

// compare reports at which rate f does its work, and which share that is of what the same threads
// reach on the yardstick. Both are run in turn, and the fastest of each counts: other processes
// slow both down, but not for ever. It returns the time of the fastest.
func (y yardstick) compare(b *testing.B, p *Pool, work float64, f func()) time.Duration {
	const atLeast = 60 * time.Millisecond
	best := func(so time.Duration, f func()) time.Duration {
		start := time.Now()
		f()
		return min(so, time.Since(start))
	}
	threads := p.Threads()
	peak, got := time.Duration(1<<62), time.Duration(1<<62)
	yard := func() { p.Run(threads, func(w, _ int) { y.run(w) }) }
	for start, turns := time.Now(), 0; turns < 5 || time.Since(start) < atLeast; turns++ {
		peak, got = best(peak, yard), best(best(got, f), f)
	}
	rate := work / float64(got)
	b.ReportMetric(rate, y.unit)
	b.ReportMetric(100*rate/(float64(threads)*y.work/float64(peak)), y.name)
	return got
}

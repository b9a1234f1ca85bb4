package kerneltest

import (
	"runtime"
	"testing"
	"time"

	"github.com/graft-ml/graft/internal/kernel"
)

// Yardstick is a benchmark of the machine's peak performance: a function, and the amount of work that it does.
type Yardstick struct {
	Name string // name of the fraction that benchmarks report
	Unit string // unit of the rate
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

// Compare reports the rate of f, and its fraction of the yardstick's rate with the same threads. Both are
// run alternately, and the fastest run of each counts, since other processes slow both down temporarily.
// It returns the time of the fastest run of f.
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

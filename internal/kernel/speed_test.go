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
		const kc = 128
		a, b, c := make([]float32, mr*kc), make([]float32, nr*kc), make([]float32, 8*mr*nr)
		y.work = 2 * mr * nr * kc
		y.run = func(w int) { micro(mr, kc, a, nil, 1, mr, b, nr, c[w%8*mr*nr:], nr, 0, nil) }
	}
	return y
}

// memoryPeak adds arrays too large for any cache (the triad of STREAM), reading and writing counted.
func memoryPeak(workers int) yardstick {
	const n = 1 << 22
	x, y, z := random[float32](workers*n, 1), random[float32](workers*n, 2), make([]float32, workers*n)
	return yardstick{"%triad", "GB/s", 12 * n, func(w int) { Add(nil, z[w*n:(w+1)*n], x[w*n:(w+1)*n], y[w*n:(w+1)*n]) }}
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

func BenchmarkMemory(b *testing.B) {
	const n = 1 << 23
	x, y, z := random[float32](n, 1), random[float32](n, 2), make([]float32, n)
	m, v := make([]float32, 64), make([]float32, 64)
	memory := memoryPeak(2)
	for _, c := range []struct {
		name   string
		arrays float64 // read or written in full
		f      func(p *Pool)
	}{
		{"Add", 3, func(p *Pool) { Add(p, z, x, y) }},
		{"Relu", 2, func(p *Pool) { Relu(p, z, x) }},
		{"ReluGrad", 3, func(p *Pool) { ReluGrad(p, z, x, y) }},
		{"Exp", 2, func(p *Pool) { Exp(p, z, x) }},
		{"Erf", 2, func(p *Pool) { Erf(p, z, x) }},
		{"Tanh", 2, func(p *Pool) { Tanh(p, z, x) }},
		{"Sum", 1, func(p *Pool) { Sum(p, x) }},
		{"ChannelMoments", 1, func(p *Pool) { ChannelMoments(p, 16, 64, n/1024, x, m, v) }},
		{"Transpose", 2, func(p *Pool) { Transpose(p, z, x, []int{n / 2048, 2048}, []int{1, 0}) }},
	} {
		for threads := 1; threads <= min(2, runtime.GOMAXPROCS(0)); threads++ {
			b.Run(c.name+[]string{"", "/threads=1", "/threads=2"}[threads], func(b *testing.B) {
				p := NewPool(threads)
				defer p.Close()
				for b.Loop() {
					c.f(p)
				}
				memory.compare(b, p, 4*n*c.arrays, func() { c.f(p) })
			})
		}
	}
}

package kernel

import (
	"runtime"
	"sync"
	"testing"
	"time"
)

// peak is the multiply-add rate of one thread in GFLOP/s: the micro-kernel on operands that stay
// in the first cache level. It is the yardstick of the GEMM and convolution benchmarks.
var peak = sync.OnceValue(func() float64 {
	const kc = 128
	a, b := make([]float32, 2*mr*kc), make([]float32, 2*nr*kc)
	c := make([]float32, 2*2*mr*nr)
	flop, run := 2*2*mr*nr*kc, func() {
		for i := range 2 {
			micro(mr, kc, a, nil, 1, mr, b[i*nr*kc:], nr, c[i*mr*nr:], nr, 0, nil)
		}
	}
	if avx512 {
		flop, run = 2*2*mr*2*nr*kc, func() {
			microPair(kc, a, a[mr*kc:], 1, mr, b, b[nr*kc:], nr, c, nr, c[2*mr*nr:], nr, 0, nil)
		}
	}
	best := time.Duration(1 << 62)
	for range 50 {
		start := time.Now()
		for range 100 {
			run()
		}
		best = min(best, time.Since(start))
	}
	return float64(flop) * 100 / float64(best.Nanoseconds())
})

// bandwidth is how fast one thread copies memory that fits in no cache, in GB/s, reading and
// writing counted.
var bandwidth = sync.OnceValue(func() float64 {
	x, y := make([]float32, 1<<24), make([]float32, 1<<24)
	best := time.Duration(1 << 62)
	for range 8 {
		start := time.Now()
		copy(y, x)
		best = min(best, time.Since(start))
	}
	return 8 * float64(len(x)) / float64(best.Nanoseconds())
})

// reportFlops reports the rate, and its share of what so many threads can do.
func reportFlops(b *testing.B, flop float64, threads int) {
	rate := flop * float64(b.N) / float64(b.Elapsed().Nanoseconds())
	b.ReportMetric(rate, "GFLOP/s")
	b.ReportMetric(100*rate/(peak()*float64(threads)), "%peak")
}

func BenchmarkMemory(b *testing.B) {
	const n = 1 << 22
	x, y, z := random[float32](n, 1), random[float32](n, 2), make([]float32, n)
	m, v := make([]float32, 64), make([]float32, 64)
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
				rate := 4 * n * c.arrays * float64(b.N) / float64(b.Elapsed().Nanoseconds())
				b.ReportMetric(rate, "GB/s")
				b.ReportMetric(100*rate/bandwidth(), "%copy")
			})
		}
	}
}

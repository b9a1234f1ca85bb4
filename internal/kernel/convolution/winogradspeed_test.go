package convolution

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/graft-ml/graft/internal/kernel"
	"github.com/graft-ml/graft/internal/kernel/elementwise"
	"github.com/graft-ml/graft/internal/kernel/kerneltest"
)

// BenchmarkWinograd compares, for 3×3 layers of well-known networks, every tile and the direct way; the
// choice of winogradFor comes from it. Rates are as in BenchmarkResNet.
func BenchmarkWinograd(b *testing.B) {
	yard := kerneltest.FmaPeak()
	for threads := 1; threads <= min(2, runtime.GOMAXPROCS(0)); threads++ {
		p := kernel.NewPool(threads)
		defer p.Close()
		for _, c := range resnetLayers {
			if g := c.s.geometry(); winogradFits(&g) && g.c >= 16 {
				benchmarkWays(b, p, yard, c.name, c.s)
			}
		}
		for _, c := range []struct {
			name string
			s    *Shape
		}{
			{"224x1/64@56", plane3x3(1, 64, 64, 56, 56, 1)}, // ResNet-18, a single image
			{"224x1/512@7", plane3x3(1, 512, 512, 7, 7, 1)},
			{"224x1/128@56:2", square(1, 64, 128, 1, 56, 3, 2, 1)},
			{"224x1/512@14:2", square(1, 256, 512, 1, 14, 3, 2, 1)},
			{"smallcnn/64@16", plane3x3(32, 32, 64, 16, 16, 1)},
			{"smallcnn/128@8", plane3x3(32, 64, 128, 8, 8, 1)},
			{"squeezenet/64@55", plane3x3(4, 16, 64, 55, 55, 1)},
			{"squeezenet/128@27", plane3x3(4, 32, 128, 27, 27, 1)},
			{"squeezenet/256@13", plane3x3(4, 64, 256, 13, 13, 1)},
			{"5x5/64@28", square(4, 64, 64, 1, 28, 5, 1, 2)},
			{"5x5/32@14", square(8, 16, 32, 1, 14, 5, 1, 2)},   // GoogLeNet
			{"5x5/192@27", square(1, 64, 192, 1, 27, 5, 1, 2)}, // AlexNet
			{"7x7/64@28", square(4, 64, 64, 1, 28, 7, 1, 3)},
			{"9x9/64@28", square(4, 64, 64, 1, 28, 9, 1, 4)},
		} {
			benchmarkWays(b, p, yard, c.name, c.s)
		}
	}
}

func benchmarkWays(b *testing.B, p *kernel.Pool, yard kerneltest.Yardstick, name string, s *Shape) {
	l := newLayerRun(s)
	run := func(pass, way string, f func()) {
		b.Run(fmt.Sprintf("threads=%d/%s/%s/%s", p.Threads(), name, pass, way), func(b *testing.B) {
			for b.Loop() {
				f()
			}
			best := yard.Compare(b, p, l.flop, f)
			b.ReportMetric(float64(best.Microseconds()), "best-µs")
		})
	}
	direct := *s
	direct.exact = true
	for pass, name := range []string{"forward", "data", "weight"} {
		l.s = &direct
		run(name, "direct", []func(){func() { l.forward(p) }, func() { l.data(p) }, func() { l.weight(p) }}[pass])
		eachWay(s, winogradPass(pass), func(t *winogradTile, g *geometry) {
			run(name, fmt.Sprintf("F%d:%d", t.m, t.step), func() {
				switch a := &l.sets[l.transpose()]; winogradPass(pass) {
				case winogradY:
					forwardWinograd(p, t, g, a.x, a.w, elementwise.Epilogue[float32]{}, a.y, l.scratch.take)
				case winogradDX:
					dataWinograd(p, t, g, a.dy, a.w, a.dx, l.scratch.take)
				case winogradDW:
					weightWinograd(p, t, g, a.x, a.dy, a.dw, l.scratch.take)
				}
			})
		})
	}
}

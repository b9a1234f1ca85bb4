package convolution

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/graft-ml/graft/internal/kernel"
	"github.com/graft-ml/graft/internal/kernel/elementwise"
	"github.com/graft-ml/graft/internal/kernel/kerneltest"
)

// resnetLayers are the distinct convolutions of ResNet-18 for images of 224×224 and of 64×64 pixels,
// with as many images as the side-by-side cases resnet18 and resnet18_64 train on at once.
var resnetLayers = []struct {
	name  string
	times int // how often the network has the layer
	s     *Shape
}{
	{"224/stem7x7", 1, square(4, 3, 64, 1, 224, 7, 2, 3)},
	{"224/3x3x64@56", 4, square(4, 64, 64, 1, 56, 3, 1, 1)},
	{"224/3x3x128@28", 3, square(4, 128, 128, 1, 28, 3, 1, 1)},
	{"224/3x3x256@14", 3, square(4, 256, 256, 1, 14, 3, 1, 1)},
	{"224/3x3x512@7", 3, square(4, 512, 512, 1, 7, 3, 1, 1)},
	{"224/3x3x128@56:2", 1, square(4, 64, 128, 1, 56, 3, 2, 1)},
	{"224/3x3x256@28:2", 1, square(4, 128, 256, 1, 28, 3, 2, 1)},
	{"224/3x3x512@14:2", 1, square(4, 256, 512, 1, 14, 3, 2, 1)},
	{"224/1x1x128@56:2", 1, square(4, 64, 128, 1, 56, 1, 2, 0)},
	{"224/1x1x256@28:2", 1, square(4, 128, 256, 1, 28, 1, 2, 0)},
	{"224/1x1x512@14:2", 1, square(4, 256, 512, 1, 14, 1, 2, 0)},
	{"64/stem7x7", 1, square(16, 3, 64, 1, 64, 7, 2, 3)},
	{"64/3x3x64@16", 4, square(16, 64, 64, 1, 16, 3, 1, 1)},
	{"64/3x3x128@8", 3, square(16, 128, 128, 1, 8, 3, 1, 1)},
	{"64/3x3x256@4", 3, square(16, 256, 256, 1, 4, 3, 1, 1)},
	{"64/3x3x512@2", 3, square(16, 512, 512, 1, 2, 3, 1, 1)},
	{"64/3x3x128@16:2", 1, square(16, 64, 128, 1, 16, 3, 2, 1)},
	{"64/3x3x256@8:2", 1, square(16, 128, 256, 1, 8, 3, 2, 1)},
	{"64/3x3x512@4:2", 1, square(16, 256, 512, 1, 4, 3, 2, 1)},
	{"64/1x1x128@16:2", 1, square(16, 64, 128, 1, 16, 1, 2, 0)},
	{"64/1x1x256@8:2", 1, square(16, 128, 256, 1, 8, 1, 2, 0)},
	{"64/1x1x512@4:2", 1, square(16, 256, 512, 1, 4, 1, 2, 0)},
}

// BenchmarkResNet is each layer forward, by data and by weight, with all that a training step pays: the
// weights have changed since the last call, and neither they nor the images are in a small cache. Rates
// count the multiply-adds of the definition, so that Winograd's algorithm may exceed the peak.
//
//	go test ./internal/kernel -run '^$' -bench ResNet -benchtime 1x
//	GODEBUG=cpu.avx512f=off go test …          # the kernels for AVX2
func BenchmarkResNet(b *testing.B) {
	yard := kerneltest.FmaPeak()
	for threads := 1; threads <= min(2, runtime.GOMAXPROCS(0)); threads++ {
		p := kernel.NewPool(threads)
		defer p.Close()
		for _, c := range resnetLayers {
			l := newLayerRun(c.s)
			for _, pass := range []struct {
				name string
				run  func()
			}{
				{"forward", func() { l.forward(p) }},
				{"data", func() { l.data(p) }},
				{"weight", func() { l.weight(p) }},
				{"data+", func() { l.dataAdd(p) }}, // as it runs where it is added to another one
			} {
				if c.s.C < 16 && pass.name == "data" || pass.name == "data+" && !DataAdds[float32](c.s) {
					continue // nobody asks for the gradient of images
				}
				b.Run(fmt.Sprintf("threads=%d/%s/%s", threads, c.name, pass.name), func(b *testing.B) {
					for b.Loop() {
						pass.run()
					}
					best := yard.Compare(b, p, l.flop, pass.run)
					b.ReportMetric(float64(best.Microseconds()), "best-µs")
					b.ReportMetric(float64(c.times), "layers")
					b.ReportMetric(float64(l.scratch.most)*4/1e6, "scratch-MB")
				})
			}
		}
	}
}

// layerRun runs a convolution on several sets of arrays in turn, so that no small cache holds them.
type layerRun struct {
	s       *Shape
	flop    float64
	sets    [layerSets]struct{ x, w, y, dx, dw, dy []float32 }
	next    int
	scratch stackScratch
}

const layerSets = 3

func newLayerRun(s *Shape) *layerRun {
	l := &layerRun{s: s}
	images, weights, results := s.N*s.C*kerneltest.Product1(s.In), s.OC*s.C/max(s.Group, 1)*kerneltest.Product1(s.Kernel), s.N*s.OC*kerneltest.Product1(s.Out)
	l.flop = 2 * float64(results) * float64(weights/s.OC)
	for i := range l.sets {
		t := &l.sets[i]
		t.x, t.w, t.dy = kerneltest.Random[float32](images, 1), kerneltest.Random[float32](weights, 2), kerneltest.Random[float32](results, 3)
		t.y, t.dx, t.dw = make([]float32, results), make([]float32, images), make([]float32, weights)
	}
	return l
}

func (l *layerRun) transpose() int {
	l.next = (l.next + 1) % layerSets
	l.scratch.used = 0
	return l.next
}

func (l *layerRun) forward(p *kernel.Pool) {
	t := &l.sets[l.transpose()]
	Forward(p, l.s, t.x, t.w, elementwise.Epilogue[float32]{}, t.y, l.scratch.take)
}

func (l *layerRun) data(p *kernel.Pool) {
	t := &l.sets[l.transpose()]
	BackwardData(p, l.s, t.dy, t.w, t.dx, l.scratch.take)
}

func (l *layerRun) dataAdd(p *kernel.Pool) {
	t := &l.sets[l.transpose()]
	BackwardDataAdd(p, l.s, t.dy, t.w, t.dx, l.scratch.take)
}

func (l *layerRun) weight(p *kernel.Pool) {
	t := &l.sets[l.transpose()]
	BackwardWeight(p, l.s, t.x, t.dy, t.dw, l.scratch.take)
}

// stackScratch hands out blocks of one array, as an engine does: all of them until used is set to 0.
type stackScratch struct {
	v          []float32
	used, most int
}

func (s *stackScratch) take(n int) []float32 {
	if s.used+n > len(s.v) {
		s.v = make([]float32, 2*(s.used+n)) // what was handed out stays valid
		s.used = 0
	}
	s.used += n
	s.most = max(s.most, s.used)
	return s.v[s.used-n : s.used : s.used]
}

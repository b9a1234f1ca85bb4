package convolution

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/graft-ml/graft/internal/kernel"
	"github.com/graft-ml/graft/internal/kernel/elementwise"
	"github.com/graft-ml/graft/internal/kernel/kerneltest"
)

// square returns a convolution of square images with stride s and the given padding.
func square(n, c, oc, group, side, kernel, s, pad int) *Shape {
	return convolution(n, c, oc, group, []int{side, side}, []int{kernel, kernel}, []int{s, s}, []int{1, 1}, []int{pad, pad})
}

// speedShapes are layers of well-known networks.
var speedShapes = []struct {
	name string
	s    *Shape
}{
	{"7x7/2x3@224", square(1, 3, 64, 1, 224, 7, 2, 3)}, // ResNet-18 …
	{"3x3x64@56", square(1, 64, 64, 1, 56, 3, 1, 1)},
	{"3x3/2x64@56", square(1, 64, 128, 1, 56, 3, 2, 1)},
	{"1x1/2x64@56", square(2, 64, 128, 1, 56, 1, 2, 0)},
	{"3x3x128@28", square(1, 128, 128, 1, 28, 3, 1, 1)},
	{"3x3x256@14", square(2, 256, 256, 1, 14, 3, 1, 1)},
	{"3x3x512@7", square(4, 512, 512, 1, 7, 3, 1, 1)},
	{"3x3x512@2", square(16, 512, 512, 1, 2, 3, 1, 1)},
	{"3x3x3@32", square(8, 3, 32, 1, 32, 3, 1, 1)}, // a small network
	{"3x3x32@16", square(16, 32, 64, 1, 16, 3, 1, 1)},
	{"3x3x64@8", square(16, 64, 128, 1, 8, 3, 1, 1)},
	{"3x3x256@28d12", convolution(4, 256, 256, 1, []int{28, 28}, []int{3, 3}, []int{1, 1}, []int{12, 12}, []int{12, 12})}, // DeepLab's pyramid
	{"3x3x256@28d24", convolution(4, 256, 256, 1, []int{28, 28}, []int{3, 3}, []int{1, 1}, []int{24, 24}, []int{24, 24})},
	{"3x3x64@40d2", convolution(4, 64, 64, 1, []int{40, 40}, []int{3, 3}, []int{1, 1}, []int{2, 2}, []int{2, 2})},
	{"3x3x64@40d4", convolution(4, 64, 64, 1, []int{40, 40}, []int{3, 3}, []int{1, 1}, []int{4, 4}, []int{4, 4})},
	{"5x5x64@28", square(4, 64, 64, 1, 28, 5, 1, 2)},
	{"5x5x1@28", square(64, 1, 6, 1, 28, 5, 1, 2)}, // LeNet
	{"5x5x6@14", square(64, 6, 16, 1, 14, 5, 1, 0)},
	{"1x1x256@28", square(1, 256, 128, 1, 28, 1, 1, 0)},
	{"1x1x128@55", square(1, 128, 16, 1, 55, 1, 1, 0)}, // SqueezeNet
	{"1x1x16@55", square(1, 16, 64, 1, 55, 1, 1, 0)},
	{"1x1x16@48", square(4, 16, 96, 1, 48, 1, 1, 0)}, // MobileNet
	{"1x1x144@24", square(4, 144, 24, 1, 24, 1, 1, 0)},
	{"1x1x384@6", square(8, 384, 64, 1, 6, 1, 1, 0)},
	{"1x1x160@3", square(8, 160, 960, 1, 3, 1, 1, 0)},
	{"dw3x3x96/2@48", square(4, 96, 96, 96, 48, 3, 2, 1)},
	{"dw3x3x144@24", square(4, 144, 144, 144, 24, 3, 1, 1)},
	{"dw3x3x384@6", square(8, 384, 384, 384, 6, 3, 1, 1)},
	{"dw3x3x960@3", square(8, 960, 960, 960, 3, 3, 1, 1)},
}

func BenchmarkConv(b *testing.B) {
	arena, used := make([]float32, 1<<26), 0
	scratch := func(n int) []float32 {
		used += n
		return arena[used-n : used]
	}
	yard := kerneltest.FmaPeak()
	for threads := 1; threads <= min(2, runtime.GOMAXPROCS(0)); threads++ {
		p := kernel.NewPool(threads)
		defer p.Close()
		for _, c := range speedShapes {
			s := c.s
			x, w := kerneltest.Random[float32](s.N*s.C*kerneltest.Product1(s.In), 1), kerneltest.Random[float32](s.OC*s.C/s.Group*kerneltest.Product1(s.Kernel), 2)
			y := make([]float32, s.N*s.OC*kerneltest.Product1(s.Out))
			flop := 2 * float64(len(y)) * float64(s.C/s.Group*kerneltest.Product1(s.Kernel))
			for _, pass := range []struct {
				name string
				f    func()
			}{
				{"forward", func() { Forward(p, s, x, w, elementwise.Epilogue[float32]{}, y, scratch) }},
				{"data", func() { BackwardData(p, s, y, w, x, scratch) }},
				{"weight", func() { BackwardWeight(p, s, x, y, w, scratch) }},
			} {
				b.Run(fmt.Sprintf("%s/%s/threads=%d", c.name, pass.name, threads), func(b *testing.B) {
					run := func() {
						used = 0
						pass.f()
					}
					for b.Loop() {
						run()
					}
					yard.Compare(b, p, flop, run)
				})
			}
		}
	}
}

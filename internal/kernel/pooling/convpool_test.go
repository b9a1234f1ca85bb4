package pooling

import (
	"fmt"
	"testing"

	"github.com/graft-ml/graft/internal/kernel"
	"github.com/graft-ml/graft/internal/kernel/convolution"
	"github.com/graft-ml/graft/internal/kernel/elementwise"
	"github.com/graft-ml/graft/internal/kernel/kerneltest"
)

// pooledForward computes the maxima of a convolution, in one go if there is a kernel for that.
func pooledForward(p *kernel.Pool, c *convolution.Shape, pool *Shape, x, w []float32, e elementwise.Epilogue[float32], y []float32) {
	if b := convolution.NewConvPool(c, pool.Windows()); b != nil {
		b.Forward(p, x, convolution.Pack(p, c, w, e, nil), elementwise.Epilogue[float32]{Act: e.Act}, y)
		return
	}
	between := make([]float32, c.N*c.OC*kerneltest.Product1(c.Out))
	convolution.Forward(p, c, x, w, e, between, nil)
	Max(p, pool, between, y, nil)
}

// pooled returns the shape of maxima of a convolution's result.
func pooled(c *convolution.Shape, kernel, stride, dilation, pad []int, ceil int) *Shape {
	s := &Shape{N: c.N, C: c.OC, In: c.Out, Kernel: kernel, Stride: stride, Dilation: dilation, PadBegin: pad, PadEnd: pad}
	for i, n := range c.Out {
		s.Out = append(s.Out, (n+2*pad[i]-(kernel[i]-1)*dilation[i]-1+ceil)/stride[i]+1)
	}
	return s
}

// TestConvPool compares convolutions fused with pooling with the two computed separately, for all
// kinds of windows, for planes of one band and of several.
func TestConvPool(t *testing.T) {
	kerneltest.Poison[float32]()
	one, two, three, none := []int{1, 1}, []int{2, 2}, []int{3, 3}, []int{0, 0}
	acts := []elementwise.Activation{{}, {Kind: elementwise.ActRelu}, {Kind: elementwise.ActClip, Beta: 6}, {Kind: elementwise.ActLeakyRelu, Alpha: 0.25}}
	for name, p := range kerneltest.Pools(t) {
		for i, in := range [][]int{{7, 9}, {21, 18}, {70, 67}, {30, 151}} {
			for k, c := range []*convolution.Shape{
				padded(2, 3, 17, 1, in, three, two, one, one),
				padded(1, 5, 8, 1, in, three, one, one, one),
				padded(2, 4, 3, 1, in, []int{7, 7}, two, one, three),
				padded(1, 9, 12, 1, in, one, one, one, none),
			} {
				for j, s := range []*Shape{
					pooled(c, three, two, one, none, 0), pooled(c, three, two, one, one, 1), pooled(c, two, two, one, none, 0),
					pooled(c, three, one, one, one, 0), pooled(c, []int{2, 3}, []int{3, 1}, one, []int{0, 1}, 0), pooled(c, two, two, two, one, 0),
				} {
					e := elementwise.Epilogue[float32]{Scale: kerneltest.Signs(c.OC, 5, 0.5), Shift: kerneltest.Small(c.OC, 8, 0), Act: acts[(i+j+k)%len(acts)]}
					x, w := kerneltest.Small(c.N*c.C*kerneltest.Product1(in), 1, 331), kerneltest.Signs(c.OC*c.C*kerneltest.Product1(c.Kernel), 2, 1)
					for q, v := range x {
						if 1+v == 1 {
							x[q] = 0 // numbers below the normal ones vanish in some orders of a sum
						}
					}
					what := fmt.Sprint(name, " ", in, k, j)
					if kernel.SIMD && i > 0 && j < 3 && convolution.NewConvPool(c, s.Windows()) == nil {
						t.Error(what, ": not recognized")
					}
					kerneltest.Against(t, what, s.N*s.C*kerneltest.Product1(s.Out), 0, func(y []float32) { pooledForward(p, c, s, x, w, e, y) })
				}
			}
		}
	}
}

func TestNoConvPool(t *testing.T) {
	one, two, three, none := []int{1, 1}, []int{2, 2}, []int{3, 3}, []int{0, 0}
	in := []int{32, 32}
	c := padded(2, 3, 16, 1, in, three, one, one, one)
	of := func(c *convolution.Shape) *Shape { return pooled(c, three, two, one, none, 0) }
	other := of(c)
	other.C, other.N = 32, 1
	depthwise, grouped := padded(2, 8, 8, 8, in, three, one, one, one), padded(2, 8, 16, 2, in, three, one, one, one)
	fast := padded(2, 64, 64, 1, in, three, one, one, one)
	wide := padded(1, 3, 16, 1, []int{40, 9000}, three, one, one, one)
	for name, layers := range map[string]struct {
		conv *convolution.Shape
		pool *Shape
	}{
		"another shape": {c, other}, "depthwise": {depthwise, of(depthwise)}, "grouped": {grouped, of(grouped)},
		"by Winograd": {fast, of(fast)}, "rows too long": {wide, of(wide)},
		"too much twice": {padded(1, 3, 8, 1, []int{60, 2000}, three, one, one, one), pooled(padded(1, 3, 8, 1, []int{60, 2000}, three, one, one, one), three, one, one, one, 0)},
	} {
		if convolution.NewConvPool(layers.conv, layers.pool.Windows()) != nil && kernel.SIMD {
			t.Errorf("%s: taken", name)
		}
	}
}

// padded completes the shape of a convolution with equal padding on both sides.
func padded(n, c, oc, group int, in, kernel, stride, dilation, pad []int) *convolution.Shape {
	s := &convolution.Shape{N: n, C: c, OC: oc, Group: group, In: in, Kernel: kernel, Stride: stride, Dilation: dilation, PadBegin: pad, PadEnd: pad}
	for i := range in {
		s.Out = append(s.Out, (in[i]+2*pad[i]-dilation[i]*(kernel[i]-1)-1)/stride[i]+1)
	}
	return s
}

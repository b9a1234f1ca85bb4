package kernel

import (
	"fmt"
	"testing"
)

// pooledForward computes the maxima of a convolution, in one go if there is a kernel for that.
func pooledForward(p *Pool, c *ConvShape, pool *PoolShape, x, w []float32, e Epilogue[float32], y []float32) {
	if b := NewConvPool(c, pool.Windows()); b != nil {
		b.Forward(p, x, PackConv(p, c, w, e, nil), Epilogue[float32]{Act: e.Act}, y)
		return
	}
	between := make([]float32, c.N*c.OC*product1(c.Out))
	ConvForward(p, c, x, w, e, between, nil)
	MaxPool(p, pool, between, y, nil)
}

// pooled is the shape of maxima of a convolution's result.
func pooled(c *ConvShape, kernel, stride, dilation, pad []int, ceil int) *PoolShape {
	s := &PoolShape{N: c.N, C: c.OC, In: c.Out, Kernel: kernel, Stride: stride, Dilation: dilation, PadBegin: pad, PadEnd: pad}
	for i, n := range c.Out {
		s.Out = append(s.Out, (n+2*pad[i]-(kernel[i]-1)*dilation[i]-1+ceil)/stride[i]+1)
	}
	return s
}

// Convolutions with all kinds of windows behind them agree with the two one after the other, where planes are one band
// or several.
func TestConvPool(t *testing.T) {
	poison[float32]()
	one, two, three, none := []int{1, 1}, []int{2, 2}, []int{3, 3}, []int{0, 0}
	acts := []Activation{{}, {Kind: ActRelu}, {Kind: ActClip, Beta: 6}, {Kind: ActLeakyRelu, Alpha: 0.25}}
	for name, p := range pools(t) {
		for i, in := range [][]int{{7, 9}, {21, 18}, {70, 67}, {30, 151}} {
			for k, c := range []*ConvShape{
				padded(2, 3, 17, 1, in, three, two, one, one),
				padded(1, 5, 8, 1, in, three, one, one, one),
				padded(2, 4, 3, 1, in, []int{7, 7}, two, one, three),
				padded(1, 9, 12, 1, in, one, one, one, none),
			} {
				for j, s := range []*PoolShape{
					pooled(c, three, two, one, none, 0), pooled(c, three, two, one, one, 1), pooled(c, two, two, one, none, 0),
					pooled(c, three, one, one, one, 0), pooled(c, []int{2, 3}, []int{3, 1}, one, []int{0, 1}, 0), pooled(c, two, two, two, one, 0),
				} {
					e := Epilogue[float32]{Scale: signs(c.OC, 5, 0.5), Shift: small(c.OC, 8, 0), Act: acts[(i+j+k)%len(acts)]}
					x, w := small(c.N*c.C*product1(in), 1, 331), signs(c.OC*c.C*product1(c.Kernel), 2, 1)
					for q, v := range x {
						if 1+v == 1 {
							x[q] = 0 // numbers below the normal ones vanish in some orders of a sum
						}
					}
					what := fmt.Sprint(name, " ", in, k, j)
					if simd && i > 0 && j < 3 && NewConvPool(c, s.Windows()) == nil {
						t.Error(what, ": not recognized")
					}
					against(t, what, s.N*s.C*product1(s.Out), 0, func(y []float32) { pooledForward(p, c, s, x, w, e, y) })
				}
			}
		}
	}
}

func TestNoConvPool(t *testing.T) {
	one, two, three, none := []int{1, 1}, []int{2, 2}, []int{3, 3}, []int{0, 0}
	in := []int{32, 32}
	c := padded(2, 3, 16, 1, in, three, one, one, one)
	of := func(c *ConvShape) *PoolShape { return pooled(c, three, two, one, none, 0) }
	other := of(c)
	other.C, other.N = 32, 1
	depthwise, grouped := padded(2, 8, 8, 8, in, three, one, one, one), padded(2, 8, 16, 2, in, three, one, one, one)
	fast := padded(2, 64, 64, 1, in, three, one, one, one)
	wide := padded(1, 3, 16, 1, []int{40, 9000}, three, one, one, one)
	for name, layers := range map[string]struct {
		conv *ConvShape
		pool *PoolShape
	}{
		"another shape": {c, other}, "depthwise": {depthwise, of(depthwise)}, "grouped": {grouped, of(grouped)},
		"by Winograd": {fast, of(fast)}, "rows too long": {wide, of(wide)},
		"too much twice": {padded(1, 3, 8, 1, []int{60, 2000}, three, one, one, one), pooled(padded(1, 3, 8, 1, []int{60, 2000}, three, one, one, one), three, one, one, one, 0)},
	} {
		if NewConvPool(layers.conv, layers.pool.Windows()) != nil && simd {
			t.Errorf("%s: taken", name)
		}
	}
}

// padded completes the shape of a convolution with equal padding on both sides.
func padded(n, c, oc, group int, in, kernel, stride, dilation, pad []int) *ConvShape {
	s := &ConvShape{N: n, C: c, OC: oc, Group: group, In: in, Kernel: kernel, Stride: stride, Dilation: dilation, PadBegin: pad, PadEnd: pad}
	for i := range in {
		s.Out = append(s.Out, (in[i]+2*pad[i]-dilation[i]*(kernel[i]-1)-1)/stride[i]+1)
	}
	return s
}

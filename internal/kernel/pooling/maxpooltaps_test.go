package pooling

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/graft-ml/graft/internal/kernel"
	"github.com/graft-ml/graft/internal/kernel/kerneltest"
)

// TestMaxPoolTaps compares taps with positions, and the assembly with the portable loops, on
// shapes with odd sizes, pads and overlaps.
func TestMaxPoolTaps(t *testing.T) {
	shapes := []Shape{
		{In: []int{4, 6}, Kernel: []int{2, 2}, Out: []int{2, 3}, Stride: []int{2, 2}},
		{In: []int{28, 28}, Kernel: []int{2, 2}, Out: []int{14, 14}, Stride: []int{2, 2}},
		{In: []int{11, 11}, Kernel: []int{2, 2}, Out: []int{5, 5}, Stride: []int{2, 2}},
		{In: []int{7, 33}, Kernel: []int{2, 2}, Out: []int{3, 16}, Stride: []int{2, 2}},
		{In: []int{2, 35}, Kernel: []int{2, 2}, Out: []int{1, 17}, Stride: []int{2, 2}},
		{In: []int{2, 2}, Kernel: []int{2, 2}, Out: []int{1, 1}, Stride: []int{2, 2}},
		{In: []int{3, 4, 18}, Kernel: []int{1, 2, 2}, Out: []int{3, 2, 9}, Stride: []int{1, 2, 2}},
		{In: []int{7, 7}, Kernel: []int{2, 2}, Out: []int{4, 4}, Stride: []int{2, 2}}, // the last windows stick out
		{In: []int{13, 15}, Kernel: []int{3, 3}, Out: []int{6, 7}, Stride: []int{2, 2}},
		{In: []int{9, 9}, Kernel: []int{3, 3}, Out: []int{5, 5}, Stride: []int{2, 2}, PadBegin: []int{1, 1}, PadEnd: []int{1, 1}},
		{In: []int{6, 20}, Kernel: []int{3, 2}, Out: []int{2, 18}, Dilation: []int{2, 2}},
		{In: []int{9}, Kernel: []int{3}, Out: []int{4}, Stride: []int{2}},
	}
	for _, s := range shapes {
		for _, planes := range []int{1, 2, 5} {
			s.N, s.C = 1, planes
			t.Run(fmt.Sprint(s.In, s.Kernel, s.Out, planes), func(t *testing.T) {
				maxPoolTapsCase[float32](t, s)
				maxPoolTapsCase[float64](t, s)
			})
		}
	}
}

func maxPoolTapsCase[T kernel.Float](t *testing.T, s Shape) {
	t.Helper()
	w := s.window()
	in, out, planes := kerneltest.Product1(s.In), kerneltest.Product1(s.Out), s.N*s.C
	r := rand.New(rand.NewPCG(uint64(in), uint64(out)))
	x, dy := make([]T, planes*in), make([]T, planes*out)
	for i := range x {
		switch x[i] = T(r.IntN(9)) - 4; r.IntN(12) { // many ties
		case 0:
			x[i] = T(math.NaN())
		case 1, 2:
			x[i] = T(math.Inf(-1))
		case 3:
			x[i] = T(math.Inf(1))
		}
	}
	for i := range dy {
		dy[i] = T(r.IntN(9)) - 4
	}
	p := kernel.NewPool(2)
	defer p.Close()
	want, index, wantTaps := make([]T, planes*out), make([]int64, planes*out), make([]uint8, planes*out)
	for i := range planes {
		maxPlane(nil, &w, x[i*in:][:in], want[i*out:][:out], index[i*out:][:out], int64(i*in))
		maxPlaneTaps(nil, &w, x[i*in:][:in], want[i*out:][:out], wantTaps[i*out:][:out])
	}
	y, taps := make([]T, planes*out), make([]uint8, planes*out)
	MaxTaps(p, &s, x, y, taps)
	if !slices.Equal(taps, wantTaps) {
		t.Errorf("taps %v, want %v", taps, wantTaps)
	}
	for i, v := range want {
		if y[i] != v && !(y[i] != y[i] && v != v) {
			t.Fatalf("element %d is %v, want %v", i, y[i], v)
		}
	}
	alone := make([]T, planes*out)
	Max(p, &s, x, alone, nil)
	kerneltest.Near(t, "without taps", alone, want, 0)
	dx, wantDX := make([]T, planes*in), make([]T, planes*in)
	for i := range dx {
		dx[i] = 99 // left over
	}
	MaxGrad(p, &s, dy, index, wantDX)
	MaxTapsGrad(p, &s, dy, taps, dx)
	if !slices.Equal(dx, wantDX) {
		t.Errorf("gradient %v, want %v", dx, wantDX)
	}
}

// TestMaxPlanes checks planes of all small sizes that contain NaN and infinities, which must not affect adjacent planes.
func TestMaxPlanes(t *testing.T) {
	for i, stride := range [][]int{{1, 1}, {2, 2}, {1, 2}, {2, 1}, {1, 1}, {2, 2}, {1, 2}, {1, 1}} {
		kernel := [][]int{{3, 3}, {5, 5}, {7, 7}}[min(i/4+i/7, 2)]
		for _, pad := range [][]int{{1, 1}, {0, 0}, {2, 3}} {
			for _, dilation := range [][]int{{1, 1}, {3, 1}} {
				for _, in := range [][]int{{1, 1}, {3, 3}, {6, 6}, {7, 5}, {3, 16}, {5, 17}, {9, 8}, {12, 12}, {2, 50}, {33, 3}} {
					s := &Shape{N: 2, C: 3, In: in, Kernel: kernel, Stride: stride, Dilation: dilation, PadBegin: pad, PadEnd: pad}
					for d := range in {
						s.Out = append(s.Out, (in[d]+2*pad[d]-dilation[d]*(kernel[d]-1)-1)/stride[d]+1)
					}
					if s.Out[0] < 1 || s.Out[1] < 1 {
						continue
					}
					x, n := kerneltest.Small(6*kerneltest.Product1(in), 1, 11), 6*kerneltest.Product1(s.Out)
					what := fmt.Sprint("windows ", *s)
					kerneltest.Against(t, what+" maximum", n, 0, func(y []float32) { Max(nil, s, x, y, nil) })
					kerneltest.Against(t, what+" tap", n, 0, func(y []float32) {
						taps := make([]uint8, n)
						MaxTaps(nil, s, x, make([]float32, n), taps)
						for i, v := range taps {
							y[i] = float32(v)
						}
					})
				}
			}
		}
	}
}

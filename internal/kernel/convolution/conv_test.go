package convolution

import (
	"fmt"
	"slices"
	"testing"

	"github.com/graft-ml/graft/internal/kernel"
	"github.com/graft-ml/graft/internal/kernel/elementwise"
	"github.com/graft-ml/graft/internal/kernel/kerneltest"
)

// visit calls f for every product of a convolution: y[yi] += x[xi] * w[wi]. It is
// written for any number of spatial dimensions, unlike the kernels.
func visit(s *Shape, f func(xi, wi, yi int)) {
	d := len(s.In)
	group := max(1, s.Group)
	cg, og := s.C/group, s.OC/group
	at := func(v []int, i, fallback int) int {
		if v == nil {
			return fallback
		}
		return v[i]
	}
	var walk func(dim, xi, wi, yi int)
	walk = func(dim, xi, wi, yi int) {
		if dim == d {
			f(xi, wi, yi)
			return
		}
		for o := range s.Out[dim] {
			for k := range s.Kernel[dim] {
				i := o*at(s.Stride, dim, 1) + k*at(s.Dilation, dim, 1) - at(s.PadBegin, dim, 0)
				if i >= 0 && i < s.In[dim] {
					walk(dim+1, xi*s.In[dim]+i, wi*s.Kernel[dim]+k, yi*s.Out[dim]+o)
				}
			}
		}
	}
	for n := range s.N {
		for oc := range s.OC {
			for c := range cg {
				walk(0, n*s.C+oc/og*cg+c, oc*cg+c, n*s.OC+oc)
			}
		}
	}
}

// convolution completes a shape with equal padding on both sides.
func convolution(n, c, oc, group int, in, kernel, stride, dilation, pad []int) *Shape {
	s := &Shape{N: n, C: c, OC: oc, Group: group, In: in, Kernel: kernel, Stride: stride, Dilation: dilation, PadBegin: pad, PadEnd: pad}
	for i := range in {
		s.Out = append(s.Out, (in[i]+2*pad[i]-dilation[i]*(kernel[i]-1)-1)/stride[i]+1)
	}
	return s
}

var convShapes = []*Shape{
	convolution(3, 4, 6, 2, []int{64, 65}, []int{64, 65}, []int{1, 1}, []int{1, 1}, []int{0, 0}), // the kernel covers the input
	convolution(2, 4, 6, 2, []int{70, 66}, []int{64, 64}, []int{2, 1}, []int{1, 1}, []int{1, 0}), // and nearly covers it
	convolution(2, 1, 3, 1, []int{140, 70}, []int{64, 64}, []int{3, 2}, []int{2, 1}, []int{7, 0}),
	convolution(2, 3, 5, 1, []int{9, 11}, []int{3, 3}, []int{1, 1}, []int{1, 1}, []int{1, 1}),
	convolution(1, 16, 20, 1, []int{14, 14}, []int{1, 1}, []int{1, 1}, []int{1, 1}, []int{0, 0}),
	convolution(3, 4, 7, 1, []int{7, 7}, []int{1, 1}, []int{1, 1}, []int{1, 1}, []int{0, 0}),
	convolution(2, 4, 6, 1, []int{13, 10}, []int{3, 3}, []int{2, 2}, []int{1, 1}, []int{1, 1}),
	convolution(2, 6, 8, 2, []int{8, 9}, []int{3, 2}, []int{1, 2}, []int{2, 1}, []int{2, 0}),
	convolution(2, 9, 17, 1, []int{7, 9}, []int{1, 1}, []int{2, 2}, []int{1, 1}, []int{0, 0}),
	convolution(3, 20, 8, 1, []int{6, 25}, []int{1, 1}, []int{2, 2}, []int{1, 1}, []int{0, 0}),
	convolution(2, 16, 24, 1, []int{5, 36}, []int{1, 1}, []int{2, 2}, []int{1, 1}, []int{0, 0}),
	convolution(5, 8, 3, 1, []int{1, 1}, []int{1, 1}, []int{2, 2}, []int{1, 1}, []int{0, 0}),
	convolution(5, 12, 20, 1, []int{1, 1}, []int{1, 1}, []int{1, 1}, []int{1, 1}, []int{0, 0}),
	convolution(3, 40, 40, 40, []int{7, 5}, []int{5, 5}, []int{1, 1}, []int{1, 1}, []int{2, 2}),
	convolution(2, 3, 10, 1, []int{4, 2, 6}, []int{1, 1, 1}, []int{1, 2, 2}, []int{1, 1, 1}, []int{0, 0, 0}),
	convolution(2, 4, 4, 1, []int{12, 12}, []int{1, 1}, []int{3, 2}, []int{1, 1}, []int{0, 0}),
	convolution(1, 3, 8, 1, []int{30, 30}, []int{7, 7}, []int{2, 2}, []int{1, 1}, []int{3, 3}),
	convolution(2, 5, 5, 5, []int{9, 12}, []int{3, 3}, []int{1, 1}, []int{1, 1}, []int{1, 1}),
	convolution(2, 5, 10, 5, []int{9, 12}, []int{3, 3}, []int{2, 2}, []int{1, 1}, []int{1, 1}),
	convolution(2, 3, 6, 3, []int{9, 40}, []int{2, 3}, []int{3, 3}, []int{2, 2}, []int{1, 2}),
	convolution(2, 1, 9, 1, []int{28, 28}, []int{5, 5}, []int{1, 1}, []int{1, 1}, []int{2, 2}),
	convolution(2, 3, 4, 1, []int{40}, []int{5}, []int{2}, []int{2}, []int{3}),
	convolution(2, 2, 3, 1, []int{5, 6, 7}, []int{3, 3, 3}, []int{1, 2, 1}, []int{1, 1, 2}, []int{1, 1, 0}),
	convolution(2, 2, 4, 2, []int{5, 6, 7}, []int{2, 3, 3}, []int{2, 2, 2}, []int{1, 1, 1}, []int{1, 1, 1}),
	convolution(1, 2, 2, 1, []int{4, 4}, []int{2, 2}, []int{3, 3}, []int{1, 1}, []int{0, 0}),
	convolution(1, 2, 2, 2, []int{4, 4}, []int{2, 2}, []int{3, 3}, []int{1, 1}, []int{0, 0}),
	convolution(2, 2, 2, 1, []int{6, 20}, []int{2, 3}, []int{1, 3}, []int{1, 1}, []int{0, 0}), // images side by side in a tile
	convolution(2, 40, 50, 1, []int{16, 17}, []int{3, 3}, []int{1, 1}, []int{1, 1}, []int{1, 1}),
	convolution(5, 64, 40, 1, []int{3, 3}, []int{3, 3}, []int{1, 1}, []int{1, 1}, []int{1, 1}),
	convolution(2, 3, 3, 3, []int{6, 40}, []int{3, 3}, []int{2, 2}, []int{1, 1}, []int{1, 1}),
	convolution(1, 3, 6, 3, []int{6, 51}, []int{2, 5}, []int{1, 2}, []int{1, 3}, []int{0, 2}),
	convolution(2, 9, 17, 1, []int{25, 31}, []int{1, 1}, []int{2, 2}, []int{1, 1}, []int{0, 0}),  // rows in place, results apart
	convolution(1, 3, 300, 1, []int{51, 79}, []int{1, 1}, []int{2, 2}, []int{1, 1}, []int{0, 0}), // cacheBlocks of which the last has one row
	convolution(3, 16, 32, 1, []int{8, 4}, []int{1, 1}, []int{2, 2}, []int{1, 1}, []int{0, 0}),
	convolution(2, 24, 40, 1, []int{14, 28}, []int{1, 1}, []int{2, 2}, []int{1, 1}, []int{0, 0}),
	convolution(1, 2, 2, 2, []int{5, 37}, []int{1, 1}, []int{2, 2}, []int{1, 1}, []int{0, 0}),
	convolution(1, 4, 6, 1, []int{20, 37}, []int{3, 3}, []int{2, 2}, []int{1, 1}, []int{0, 0}),
	{N: 1, C: 16, OC: 3, In: []int{9000}, Kernel: []int{4}, Out: []int{9000}, PadEnd: []int{3}},
	convolution(1, 16, 9, 1, []int{9001}, []int{5}, []int{2}, []int{1}, []int{2}),
	convolution(1, 10, 3, 1, []int{3, 4003}, []int{3, 3}, []int{1, 1}, []int{1, 1}, []int{1, 1}),
	convolution(2, 3, 3, 3, []int{70, 301}, []int{3, 3}, []int{1, 1}, []int{1, 1}, []int{1, 1}),
	convolution(9, 20, 20, 20, []int{6, 5}, []int{3, 3}, []int{2, 2}, []int{1, 1}, []int{1, 1}),
	convolution(1, 2, 4, 2, []int{19, 23}, []int{5, 5}, []int{1, 1}, []int{1, 1}, []int{2, 2}),
	convolution(2, 3, 6, 3, []int{20, 37}, []int{7, 7}, []int{1, 1}, []int{1, 1}, []int{3, 3}),
	convolution(2, 3, 6, 3, []int{23, 40}, []int{5, 5}, []int{2, 2}, []int{1, 1}, []int{2, 1}),
	convolution(1, 4, 4, 4, []int{14, 9}, []int{7, 7}, []int{1, 1}, []int{1, 1}, []int{6, 1}),
	convolution(2, 3, 11, 1, []int{35, 50}, []int{16, 16}, []int{16, 16}, []int{1, 1}, []int{0, 0}), // patches, and points after the last
	convolution(3, 3, 9, 1, []int{20, 24}, []int{4, 4}, []int{4, 4}, []int{1, 1}, []int{0, 0}),
	convolution(2, 9, 12, 1, []int{17, 40}, []int{5, 5}, []int{3, 3}, []int{1, 1}, []int{1, 1}),
	convolution(2, 3, 12, 1, []int{39, 61}, []int{11, 11}, []int{4, 4}, []int{1, 1}, []int{2, 2}),
	convolution(2, 1, 20, 1, []int{403}, []int{10}, []int{5}, []int{1}, []int{0}),
	convolution(1, 2, 9, 1, []int{500}, []int{30}, []int{7}, []int{1}, []int{3}),
	convolution(2, 6, 4, 2, []int{9, 26}, []int{1, 2}, []int{1, 3}, []int{1, 1}, []int{0, 1}), // points that nothing reaches
	convolution(2, 2, 8, 1, []int{25, 9}, []int{3, 3}, []int{3, 1}, []int{1, 1}, []int{0, 1}),
	convolution(1, 2, 4, 1, []int{7, 9, 31}, []int{3, 2, 4}, []int{2, 1, 3}, []int{1, 1, 1}, []int{1, 0, 2}),
	convolution(1, 3, 4, 1, []int{2, 3}, []int{2, 2}, []int{5, 5}, []int{1, 1}, []int{0, 0}), // fewer phases than strides
	convolution(2, 4, 6, 1, []int{24, 28}, []int{3, 3}, []int{2, 3}, []int{2, 2}, []int{2, 1}),
	convolution(2, 3, 5, 1, []int{5, 8, 7}, []int{1, 1, 1}, []int{2, 1, 1}, []int{1, 1, 1}, []int{0, 0, 0}), // rows of dx are contiguous in phases
	convolution(2, 9, 5, 1, []int{7, 6, 10}, []int{3, 2, 2}, []int{3, 1, 1}, []int{1, 1, 1}, []int{1, 0, 1}),
	convolution(3, 1, 4, 1, []int{1, 9}, []int{1, 3}, []int{2, 1}, []int{1, 1}, []int{0, 1}), // and so do images
	{N: 1, C: 2, OC: 3, In: []int{6, 6}, Kernel: []int{3, 3}, Out: []int{8, 5}, PadBegin: []int{3, 0}, PadEnd: []int{1, 1}},

	// Taps that read nothing but padding.
	convolution(2, 24, 40, 1, []int{8, 8}, []int{3, 3}, []int{1, 1}, []int{12, 12}, []int{12, 12}),
	convolution(5, 32, 32, 1, []int{1, 1}, []int{3, 3}, []int{1, 1}, []int{1, 1}, []int{1, 1}),
	convolution(2, 16, 16, 1, []int{2, 3}, []int{5, 7}, []int{1, 1}, []int{1, 2}, []int{3, 5}),
	convolution(2, 4, 6, 2, []int{3, 20}, []int{3, 3}, []int{1, 1}, []int{9, 3}, []int{9, 3}),
	convolution(2, 3, 5, 1, []int{2}, []int{9}, []int{1}, []int{1}, []int{4}),
	convolution(1, 3, 5, 1, []int{2, 1, 4}, []int{3, 3, 3}, []int{1, 1, 2}, []int{2, 1, 1}, []int{2, 1, 1}),
	convolution(2, 4, 4, 1, []int{4, 4}, []int{3, 3}, []int{1, 1}, []int{7, 7}, []int{8, 8}), // the first tap that reads begins inside
	convolution(2, 4, 4, 1, []int{2, 2}, []int{2, 2}, []int{9, 9}, []int{4, 4}, []int{3, 3}), // none reads
	convolution(2, 6, 6, 6, []int{1, 2}, []int{3, 3}, []int{1, 1}, []int{1, 4}, []int{1, 4}),
}

func testConv[T kernel.Float](t *testing.T, tol float64) {
	for name, p := range kerneltest.Pools(t) {
		for i, s := range convShapes {
			group := max(1, s.Group)
			x, w := kerneltest.Random[T](s.N*s.C*kerneltest.Product1(s.In), 1), kerneltest.Random[T](s.OC*s.C/group*kerneltest.Product1(s.Kernel), 2)
			bias, dy := kerneltest.Random[T](s.OC, 3), kerneltest.Random[T](s.N*s.OC*kerneltest.Product1(s.Out), 4)
			y := make([]float64, len(dy))
			dx, dw := make([]float64, len(x)), make([]float64, len(w))
			visit(s, func(xi, wi, yi int) {
				y[yi] += float64(x[xi]) * float64(w[wi])
				dx[xi] += float64(dy[yi]) * float64(w[wi])
				dw[wi] += float64(dy[yi]) * float64(x[xi])
			})
			what := fmt.Sprint(name, " ", i, *s)
			kerneltest.Poison[T]()
			got := kerneltest.Random[T](len(dy), 5)
			Forward(p, s, x, w, elementwise.Epilogue[T]{}, got, nil)
			kerneltest.Near(t, what+" y", kerneltest.Wide(got), y, tol)
			if Packs[T](s) {
				got = kerneltest.Random[T](len(dy), 5)
				ForwardPacked(p, s, x, Pack(p, s, w, elementwise.Epilogue[T]{}, nil), elementwise.Epilogue[T]{}, got, nil)
				kerneltest.Near(t, what+" packed", kerneltest.Wide(got), y, tol)
			}

			space := kerneltest.Product1(s.Out)
			for q := range y {
				y[q] = max(0, y[q]+float64(bias[q/space%s.OC]))
			}
			Forward(p, s, x, w, elementwise.Epilogue[T]{Shift: bias, Act: elementwise.Activation{Kind: elementwise.ActRelu}}, got, nil)
			kerneltest.Near(t, what+" relu", kerneltest.Wide(got), y, tol)

			got = kerneltest.Random[T](len(x), 5)
			BackwardData(p, s, dy, w, got, nil)
			kerneltest.Near(t, what+" dx", kerneltest.Wide(got), dx, tol)
			got = kerneltest.Random[T](len(w), 5)
			BackwardWeight(p, s, x, dy, got, nil)
			kerneltest.Near(t, what+" dw", kerneltest.Wide(got), dw, 4*tol)
		}
	}
}

func TestConv(t *testing.T) {
	t.Run("float32", func(t *testing.T) { testConv[float32](t, 1e-4) })
	t.Run("float64", func(t *testing.T) { testConv[float64](t, 1e-12) })
}

// TestSameBytes checks that equal inputs with an equal number of threads give bitwise equal results.
func TestSameBytes(t *testing.T) {
	p := kernel.NewPool(2)
	defer p.Close()
	for _, s := range convShapes {
		x, dy := kerneltest.Random[float32](s.N*s.C*kerneltest.Product1(s.In), 1), kerneltest.Random[float32](s.N*s.OC*kerneltest.Product1(s.Out), 4)
		var first []float32
		for range 3 {
			dw := make([]float32, s.OC*s.C/max(1, s.Group)*kerneltest.Product1(s.Kernel))
			BackwardWeight(p, s, x, dy, dw, nil)
			if first == nil {
				first = dw
			}
			kerneltest.Near(t, fmt.Sprint(*s), dw, first, 0)
		}
	}
}

// TestConvApart checks that results with gaps between images are the same, and that the gaps are not written.
func TestConvApart(t *testing.T) {
	for name, p := range kerneltest.Pools(t) {
		for _, s := range convShapes {
			if !Apart[float32](s) || s.N == 1 {
				continue
			}
			image := s.OC * kerneltest.Product1(s.Out)
			x, w := kerneltest.Random[float32](s.N*s.C*kerneltest.Product1(s.In), 1), kerneltest.Random[float32](s.OC*s.C/s.Group*kerneltest.Product1(s.Kernel), 2)
			e := elementwise.Epilogue[float32]{Shift: kerneltest.Random[float32](s.OC, 3), Act: elementwise.Activation{Kind: elementwise.ActRelu}}
			together := make([]float32, s.N*image)
			Forward(p, s, x, w, e, together, nil)
			apart := *s
			apart.ImageY = image + 5
			want := kerneltest.Random[float32](s.N*apart.ImageY-5, 4)
			got := append([]float32(nil), want...)
			for i := range s.N {
				copy(want[i*apart.ImageY:], together[i*image:][:image])
			}
			Forward(p, &apart, x, w, e, got, nil)
			kerneltest.Near(t, fmt.Sprint(name, *s), got, want, 0)
			packed := Pack(p, &apart, w, e, nil)
			ForwardPacked(p, &apart, x, packed, elementwise.Epilogue[float32]{Act: e.Act}, got, nil)
			kerneltest.Near(t, fmt.Sprint(name, *s, " packed"), got, want, 1e-4)
		}
	}
}

// TestConvDataAdd: adding the gradient to another one is adding what is computed apart, in one block or in several.
func TestConvDataAdd(t *testing.T) {
	for _, s := range []*Shape{square(1, 12, 9, 1, 10, 1, 2, 0), square(5, 8, 20, 1, 30, 1, 2, 0), square(7, 17, 8, 1, 26, 1, 2, 0)} {
		if !DataAdds[float32](s) {
			t.Skip("there are no kernels for it here")
		}
		dy, w, dx := kerneltest.Random[float32](s.N*s.OC*kerneltest.Product1(s.Out), 1), kerneltest.Random[float32](s.OC*s.C, 2), kerneltest.Random[float32](s.N*s.C*kerneltest.Product1(s.In), 3)
		for threads := 1; threads <= 3; threads++ {
			p := kernel.NewPool(threads)
			got, want := slices.Clone(dx), make([]float32, len(dx))
			BackwardData(p, s, dy, w, want, nil)
			for i, v := range dx {
				want[i] += v
			}
			BackwardDataAdd(p, s, dy, w, got, nil)
			p.Close()
			same(t, fmt.Sprint(*s, threads), got, want, 0)
		}
	}
}

func TestAssemblyConv(t *testing.T) {
	for i, s := range convShapes {
		s := *s
		s.exact = true // TestWinograd bounds the rounding errors of the other way
		x, w := kerneltest.Small(s.N*s.C*kerneltest.Product1(s.In), 1, 0), kerneltest.Small(s.OC*s.C/max(1, s.Group)*kerneltest.Product1(s.Kernel), 2, 0)
		dy := kerneltest.Small(s.N*s.OC*kerneltest.Product1(s.Out), 3, 0)
		what := fmt.Sprint("convolution ", i, " ")
		kerneltest.Against(t, what+"forward", len(dy), 0, func(y []float32) { Forward(nil, &s, x, w, elementwise.Epilogue[float32]{}, y, nil) })
		kerneltest.Against(t, what+"epilogue", len(dy), 0, func(y []float32) {
			e := elementwise.Epilogue[float32]{Shift: kerneltest.Small(s.OC, 5, 0), Add: dy, Act: elementwise.Activation{Kind: elementwise.ActRelu}}
			Forward(nil, &s, x, w, e, y, nil)
		})
		kerneltest.Against(t, what+"data", len(x), 0, func(dx []float32) { BackwardData(nil, &s, dy, w, dx, nil) })
		kerneltest.Against(t, what+"weight", len(w), 0, func(dw []float32) { BackwardWeight(nil, &s, x, dy, dw, nil) })
	}
}

// TestConvNarrow runs the same tests with the assembly for older processors.
func TestConvNarrow(t *testing.T) {
	kerneltest.Narrower(t, map[string]func(*testing.T){
		"Conv":        TestConv,
		"Tile":        TestTileKernels,
		"StoreRuns":   TestStoreRuns,
		"Weight":      TestWeightKernels,
		"Depth":       TestDepthKernels,
		"DepthPlanes": TestDepthPlanes,
		"Bottleneck":  TestBottleneck,
		"Winograd":    TestWinograd,
	})
}

package convolution

import (
	"fmt"
	"testing"

	"github.com/graft-ml/graft/internal/kernel"
	"github.com/graft-ml/graft/internal/kernel/elementwise"
	"github.com/graft-ml/graft/internal/kernel/kerneltest"
)

var regionShapes = []*Shape{
	convolution(2, 24, 40, 1, []int{8, 9}, []int{3, 3}, []int{1, 1}, []int{4, 4}, []int{4, 4}),
	convolution(3, 16, 16, 1, []int{28, 28}, []int{3, 3}, []int{1, 1}, []int{12, 24}, []int{12, 24}),
	convolution(2, 17, 33, 1, []int{9, 20}, []int{5, 3}, []int{1, 1}, []int{3, 11}, []int{6, 11}),
	convolution(2, 16, 18, 1, []int{30}, []int{4}, []int{1}, []int{9}, []int{14}),
	convolution(1, 16, 17, 1, []int{5, 6, 7}, []int{3, 3, 3}, []int{1, 1, 1}, []int{3, 2, 4}, []int{3, 2, 4}),
	convolution(2, 20, 16, 1, []int{6, 6}, []int{2, 2}, []int{1, 1}, []int{5, 5}, []int{5, 5}), // and one in which none does
	{N: 2, C: 16, OC: 24, In: []int{8, 7}, Kernel: []int{3, 3}, Out: []int{9, 5}, Dilation: []int{5, 4}, PadBegin: []int{6, 2}},
	convolution(1, 2, 3, 1, []int{3, 3}, []int{3, 3}, []int{1, 1}, []int{1, 2}, []int{1, 2}),
}

func testRegions[T kernel.Float](t *testing.T, tol float64) {
	for name, p := range kerneltest.Pools(t) {
		for _, s := range regionShapes {
			x, w := kerneltest.Random[T](s.N*s.C*kerneltest.Product1(s.In), 1), kerneltest.Random[T](s.OC*s.C*kerneltest.Product1(s.Kernel), 2)
			shift, dy := kerneltest.Random[T](s.OC, 3), kerneltest.Random[T](s.N*s.OC*kerneltest.Product1(s.Out), 4)
			y, dx, dw := make([]float64, len(dy)), make([]float64, len(x)), make([]float64, len(w))
			for i := range y {
				y[i] = float64(shift[i/kerneltest.Product1(s.Out)%s.OC])
			}
			visit(s, func(xi, wi, yi int) {
				y[yi] += float64(x[xi]) * float64(w[wi])
				dx[xi] += float64(dy[yi]) * float64(w[wi])
				dw[wi] += float64(dy[yi]) * float64(x[xi])
			})
			what := fmt.Sprint(name, " ", *s)
			g := s.geometry()
			back := g.reversed()
			kerneltest.Poison[T]()
			got := kerneltest.Random[T](len(dy), 5)
			forwardRegions(p, &g, g.findRegions(), x, w, elementwise.Epilogue[T]{Shift: shift}, got, nil)
			kerneltest.Near(t, what+" y", kerneltest.Wide(got), y, tol)
			got = kerneltest.Random[T](len(x), 5)
			dataRegions(p, &g, back.findRegions(), dy, w, got, nil)
			kerneltest.Near(t, what+" dx", kerneltest.Wide(got), dx, tol)
			got = kerneltest.Random[T](len(w), 5)
			weightRegions(p, &g, x, dy, got, nil)
			kerneltest.Near(t, what+" dw", kerneltest.Wide(got), dw, 4*tol)
		}
	}
}

// The result does not depend on the division into regions.
func TestRegions(t *testing.T) {
	t.Run("float32", func(t *testing.T) { testRegions[float32](t, 1e-4) })
	t.Run("float64", func(t *testing.T) { testRegions[float64](t, 1e-12) })
}

// Large kernels would have too many regions.
func TestFewRegions(t *testing.T) {
	s := convolution(1, 64, 64, 1, []int{400, 400}, []int{200, 200}, []int{1, 1}, []int{2, 2}, []int{300, 300})
	g := s.geometry()
	for _, pass := range []winogradPass{winogradY, winogradDX, winogradDW} {
		if list := regionsFor[float32](s, &g, pass); list != nil {
			t.Errorf("pass %d: %d regions", pass, len(list))
		}
	}
}

// DeepLab's pyramid is computed by regions, ordinary dilations are not.
func TestRegionsChosen(t *testing.T) {
	for dilation, want := range map[int]bool{1: false, 2: false, 4: false, 24: true} {
		side := []int{28, 28}
		s := convolution(4, 256, 256, 1, side, []int{3, 3}, []int{1, 1}, []int{dilation, dilation}, []int{dilation, dilation})
		g := s.geometry()
		for _, pass := range []winogradPass{winogradY, winogradDX, winogradDW} {
			if got := regionsFor[float32](s, &g, pass) != nil; got != want {
				t.Errorf("dilation %d, pass %d: by regions: %v, want %v", dilation, pass, got, want)
			}
		}
	}
}

package convolution

import (
	"fmt"
	"testing"

	"github.com/graft-ml/graft/internal/kernel"
	"github.com/graft-ml/graft/internal/kernel/epiloguetest"
	"github.com/graft-ml/graft/internal/kernel/kerneltest"
)

// dilated returns a convolution of 3×3 with dilation that winograd computes.
func dilated(n, c, oc int, in, dilation, pad []int) *Shape {
	return convolution(n, c, oc, 1, in, []int{3, 3}, []int{1, 1}, dilation, pad)
}

func TestDilated(t *testing.T) {
	all := kerneltest.Pools(t)
	for _, s := range []*Shape{
		dilated(3, 64, 70, []int{12, 13}, []int{2, 2}, []int{2, 2}),
		dilated(1, 128, 129, []int{21, 20}, []int{7, 7}, []int{7, 7}),
		dilated(3, 64, 32, []int{11, 30}, []int{2, 4}, []int{0, 4}),
		dilated(3, 64, 64, []int{12, 26}, []int{1, 3}, []int{1, 3}),
	} {
		g := s.geometry()
		if kernel.SIMD && winogradFor[float32](s, &g, winogradY) == nil {
			t.Fatal(*s, "goes another way")
		}
		x, w := kerneltest.Random[float32](s.N*s.C*kerneltest.Product1(s.In), 1), kerneltest.Random[float32](s.OC*s.C*9, 2)
		dy := kerneltest.Random[float32](s.N*s.OC*kerneltest.Product1(s.Out), 4)
		y, dx, dw := make([]float64, len(dy)), make([]float64, len(x)), make([]float64, len(w))
		visit(s, func(xi, wi, yi int) {
			y[yi] += float64(x[xi]) * float64(w[wi])
			dx[xi] += float64(dy[yi]) * float64(w[wi])
			dw[wi] += float64(dy[yi]) * float64(x[xi])
		})
		space, largest := kerneltest.Product1(s.Out), 0.0
		for _, v := range y {
			largest = max(largest, abs(v))
		}
		for name, p := range all {
			what := fmt.Sprint(name, *s)
			got := kerneltest.Random[float32](len(x), 5)
			BackwardData(p, s, dy, w, got, nil)
			relative(t, what+" dx", got, dx, 1e-5)
			got = kerneltest.Random[float32](len(w), 5)
			BackwardWeight(p, s, x, dy, got, nil)
			relative(t, what+" dw", got, dw, 1e-5)
			for kind, e := range epiloguetest.Epilogues[float32](s.OC, len(y)) {
				got = kerneltest.Random[float32](len(dy), 5)
				Forward(p, s, x, w, e, got, nil)
				for q, v := range y {
					want := epiloguetest.Finished(&e, v, q/space%s.OC, q)
					if d := abs(float64(got[q]) - want); !(d <= 4e-5*largest) { // the sum's error, times scale and slope
						t.Fatalf("%s %s: element %d is %v, want %v", what, kind, q, got[q], want)
					}
				}
			}
		}
	}
}

package kernel

import (
	"fmt"
	"testing"
)

// dilated is a convolution of 3×3 with dilation that winograd computes.
func dilated(n, c, oc int, in, dilation, pad []int) *ConvShape {
	return convolution(n, c, oc, 1, in, []int{3, 3}, []int{1, 1}, dilation, pad)
}

func TestDilated(t *testing.T) {
	all := pools(t)
	for _, s := range []*ConvShape{
		dilated(3, 64, 70, []int{12, 13}, []int{2, 2}, []int{2, 2}),
		dilated(1, 128, 129, []int{21, 20}, []int{7, 7}, []int{7, 7}),
		dilated(3, 64, 32, []int{11, 30}, []int{2, 4}, []int{0, 4}),
		dilated(3, 64, 64, []int{12, 26}, []int{1, 3}, []int{1, 3}),
	} {
		g := s.geometry()
		if simd && winogradFor[float32](s, &g, winogradY) == nil {
			t.Fatal(*s, "goes another way")
		}
		x, w := random[float32](s.N*s.C*product1(s.In), 1), random[float32](s.OC*s.C*9, 2)
		dy := random[float32](s.N*s.OC*product1(s.Out), 4)
		y, dx, dw := make([]float64, len(dy)), make([]float64, len(x)), make([]float64, len(w))
		visit(s, func(xi, wi, yi int) {
			y[yi] += float64(x[xi]) * float64(w[wi])
			dx[xi] += float64(dy[yi]) * float64(w[wi])
			dw[wi] += float64(dy[yi]) * float64(x[xi])
		})
		space, largest := product1(s.Out), 0.0
		for _, v := range y {
			largest = max(largest, abs(v))
		}
		for name, p := range all {
			what := fmt.Sprint(name, *s)
			got := random[float32](len(x), 5)
			ConvBackwardData(p, s, dy, w, got, nil)
			relative(t, what+" dx", got, dx, 1e-5)
			got = random[float32](len(w), 5)
			ConvBackwardWeight(p, s, x, dy, got, nil)
			relative(t, what+" dw", got, dw, 1e-5)
			for kind, e := range epilogues[float32](s.OC, len(y)) {
				got = random[float32](len(dy), 5)
				ConvForward(p, s, x, w, e, got, nil)
				for q, v := range y {
					want := finished(&e, v, q/space%s.OC, q)
					if d := abs(float64(got[q]) - want); !(d <= 4e-5*largest) { // the sum's error, times scale and slope
						t.Fatalf("%s %s: element %d is %v, want %v", what, kind, q, got[q], want)
					}
				}
			}
		}
	}
}

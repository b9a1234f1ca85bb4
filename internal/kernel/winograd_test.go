package kernel

import (
	"fmt"
	"testing"
)

var winogradShapes = []*ConvShape{
	plane3x3(1, 16, 16, 8, 8, 1),
	plane3x3(2, 16, 32, 7, 9, 1),
	plane3x3(1, 20, 35, 5, 6, 0),
	plane3x3(3, 33, 16, 4, 4, 2),
	plane3x3(2, 24, 40, 1, 2, 1),
	plane3x3(5, 17, 50, 3, 3, 1),
	plane3x3(2, 48, 70, 14, 13, 1),
	plane3x3(1, 150, 64, 7, 7, 1),
	plane3x3(3, 16, 16, 30, 41, 1),
	{N: 2, C: 18, OC: 19, In: []int{9, 8}, Kernel: []int{3, 3}, Out: []int{8, 9}, PadBegin: []int{1, 2}, PadEnd: []int{0, 1}},
}

func plane3x3(n, c, oc, high, wide, pad int) *ConvShape {
	return convolution(n, c, oc, 1, []int{high, wide}, []int{3, 3}, []int{1, 1}, []int{1, 1}, []int{pad, pad})
}

func testWinograd[T Float](t *testing.T, tile *winogradTile, tol float64) {
	for name, p := range pools(t) {
		for _, s := range winogradShapes {
			g := s.geometry()
			x, w := random[T](s.N*s.C*product1(s.In), 1), random[T](s.OC*s.C*9, 2)
			dy := random[T](s.N*s.OC*product1(s.Out), 4)
			y, dx, dw := make([]float64, len(dy)), make([]float64, len(x)), make([]float64, len(w))
			visit(s, func(xi, wi, yi int) {
				y[yi] += float64(x[xi]) * float64(w[wi])
				dx[xi] += float64(dy[yi]) * float64(w[wi])
				dw[wi] += float64(dy[yi]) * float64(x[xi])
			})
			what := fmt.Sprint(name, " F", tile.m, " ", *s)
			never := func(int) { t.Error(what, "not finite") }
			got := random[T](len(dy), 5)
			forwardWinograd(p, tile, &g, x, w, Epilogue[T]{}, got, nil, never)
			relative(t, what+" y", got, y, tol)
			got = random[T](len(x), 5)
			dataWinograd(p, tile, &g, dy, w, got, nil, never)
			relative(t, what+" dx", got, dx, tol)
			got = random[T](len(w), 5)
			if !weightWinograd(p, tile, &g, x, dy, got, nil) {
				t.Error(what, "not finite")
			}
			relative(t, what+" dw", got, dw, tol)
		}
	}
}

// relative fails where got is further from want than tol times the largest element of want.
func relative[T Float](t *testing.T, what string, got []T, want []float64, tol float64) {
	t.Helper()
	largest, worst := 0.0, 0.0
	for i, v := range want {
		largest = max(largest, abs(v))
		worst = max(worst, abs(v-float64(got[i])))
	}
	if !(worst <= tol*largest) {
		t.Errorf("%s: off by %g of %g", what, worst, largest)
	}
}

func abs(x float64) float64 { return max(x, -x) }

func TestWinograd(t *testing.T) {
	for _, tile := range []*winogradTile{winograd2, winograd4} {
		t.Run(fmt.Sprintf("float64/F%d", tile.m), func(t *testing.T) { testWinograd[float64](t, tile, 1e-13) })
		t.Run(fmt.Sprintf("float32/F%d", tile.m), func(t *testing.T) { testWinograd[float32](t, tile, 1e-5) })
	}
}

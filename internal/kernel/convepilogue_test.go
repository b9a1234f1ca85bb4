package kernel

import (
	"fmt"
	"testing"
)

func testEpilogue[T Float](t *testing.T, tol float64) {
	for name, p := range pools(t) {
		for i, s := range convShapes {
			x, w := random[T](s.N*s.C*product1(s.In), 1), random[T](s.OC*s.C/max(1, s.Group)*product1(s.Kernel), 2)
			space := product1(s.Out)
			y := make([]float64, s.N*s.OC*space)
			visit(s, func(xi, wi, yi int) { y[yi] += float64(x[xi]) * float64(w[wi]) })
			for what, e := range epilogues[T](s.OC, len(y)) {
				want := make([]float64, len(y))
				for q, v := range y {
					want[q] = finished(&e, v, q/space%s.OC, q)
				}
				got := random[T](len(y), 5)
				ConvForward(p, s, x, w, e, got, nil)
				near(t, fmt.Sprint(name, " ", i, *s, " ", what), wide(got), want, tol)
			}
		}
	}
}

func TestEpilogue(t *testing.T) {
	t.Run("float32", func(t *testing.T) { testEpilogue[float32](t, 1e-4) })
	t.Run("float64", func(t *testing.T) { testEpilogue[float64](t, 1e-12) })
}

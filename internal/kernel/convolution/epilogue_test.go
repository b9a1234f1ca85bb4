package convolution

import (
	"fmt"
	"testing"

	"github.com/graft-ml/graft/internal/kernel"
	"github.com/graft-ml/graft/internal/kernel/epiloguetest"
	"github.com/graft-ml/graft/internal/kernel/kerneltest"
)

func testEpilogue[T kernel.Float](t *testing.T, tol float64) {
	for name, p := range kerneltest.Pools(t) {
		for i, s := range convShapes {
			x, w := kerneltest.Random[T](s.N*s.C*kerneltest.Product1(s.In), 1), kerneltest.Random[T](s.OC*s.C/max(1, s.Group)*kerneltest.Product1(s.Kernel), 2)
			space := kerneltest.Product1(s.Out)
			y := make([]float64, s.N*s.OC*space)
			visit(s, func(xi, wi, yi int) { y[yi] += float64(x[xi]) * float64(w[wi]) })
			for what, e := range epiloguetest.Epilogues[T](s.OC, len(y)) {
				want := make([]float64, len(y))
				for q, v := range y {
					want[q] = epiloguetest.Finished(&e, v, q/space%s.OC, q)
				}
				got := kerneltest.Random[T](len(y), 5)
				Forward(p, s, x, w, e, got, nil)
				kerneltest.Near(t, fmt.Sprint(name, " ", i, *s, " ", what), kerneltest.Wide(got), want, tol)
			}
		}
	}
}

func TestEpilogue(t *testing.T) {
	t.Run("float32", func(t *testing.T) { testEpilogue[float32](t, 1e-4) })
	t.Run("float64", func(t *testing.T) { testEpilogue[float64](t, 1e-12) })
}

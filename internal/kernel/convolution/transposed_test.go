package convolution

import (
	"fmt"
	"slices"
	"testing"

	"github.com/graft-ml/graft/internal/kernel"
	"github.com/graft-ml/graft/internal/kernel/epiloguetest"
	"github.com/graft-ml/graft/internal/kernel/kerneltest"
)

// transposedShapes are transposed convolutions besides convShapes.
var transposedShapes = []*Shape{
	convolution(3, 5, 12, 1, []int{14, 18}, []int{4, 4}, []int{2, 2}, []int{1, 1}, []int{1, 1}),
	convolution(2, 17, 9, 1, []int{10, 36}, []int{2, 2}, []int{2, 2}, []int{1, 1}, []int{0, 0}),
	convolution(2, 6, 8, 2, []int{11, 13}, []int{3, 3}, []int{2, 2}, []int{1, 1}, []int{1, 1}),
	convolution(2, 8, 8, 1, []int{120}, []int{9}, []int{3}, []int{1}, []int{2}),
	convolution(1, 3, 7, 1, []int{4, 6, 8}, []int{2, 2, 2}, []int{2, 2, 2}, []int{1, 1, 1}, []int{0, 0, 0}),
	convolution(2, 4, 4, 1, []int{1, 9}, []int{1, 3}, []int{1, 2}, []int{1, 1}, []int{0, 1}),
	convolution(2, 7, 3, 1, []int{9, 9}, []int{3, 3}, []int{1, 1}, []int{2, 2}, []int{2, 2}),
	convolution(3, 1, 2, 1, []int{13, 5}, []int{1, 1}, []int{2, 1}, []int{1, 1}, []int{0, 0}), // the last row of an image is next to the first of another
	convolution(3, 1, 2, 1, []int{9, 7}, []int{4, 3}, []int{4, 1}, []int{1, 1}, []int{1, 1}),
	convolution(2, 1, 1, 1, []int{3, 7, 4}, []int{1, 1, 1}, []int{1, 2, 1}, []int{1, 1, 1}, []int{0, 0, 0}),
}

func testTransposed[T kernel.Float](t *testing.T, tol float64) {
	for name, p := range kerneltest.Pools(t) {
		shapes := transposedShapes
		if name == "serial" {
			shapes = slices.Concat(shapes, convShapes)
		}
		for i, s := range shapes {
			space := kerneltest.Product1(s.In)
			x, w := kerneltest.Random[T](s.N*s.OC*kerneltest.Product1(s.Out), 1), kerneltest.Random[T](s.OC*s.C/max(1, s.Group)*kerneltest.Product1(s.Kernel), 2)
			sums := make([]float64, s.N*s.C*space)
			visit(s, func(yi, wi, xi int) { sums[yi] += float64(x[xi]) * float64(w[wi]) })
			for what, e := range epiloguetest.Epilogues[T](s.C, len(sums)) {
				want := make([]float64, len(sums))
				for q, v := range sums {
					want[q] = epiloguetest.Finished(&e, v, q/space%s.C, q)
				}
				got := kerneltest.Random[T](len(sums), 5)
				Transposed(p, s, x, w, e, got, nil)
				kerneltest.Near(t, fmt.Sprint(name, " ", i, *s, " ", what), kerneltest.Wide(got), want, tol)
			}
		}
	}
}

func TestConvTransposed(t *testing.T) {
	// Winograd's sums are right to 1e-4 of their size, of which shift and addend take a part away.
	t.Run("float32", func(t *testing.T) { testTransposed[float32](t, 2e-4) })
	t.Run("float64", func(t *testing.T) { testTransposed[float64](t, 1e-12) })
}

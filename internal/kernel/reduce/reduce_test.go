package reduce

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/graft-ml/graft/internal/kernel"
	"github.com/graft-ml/graft/internal/kernel/kerneltest"
)

var reduceOps = []ReduceOp{ReduceSum, ReduceMean, ReduceMax, ReduceMin, ReduceProd, ReduceSumSq, ReduceL1}

// reduceReference reduces any axes, element by element.
func reduceReference[T kernel.Float](op ReduceOp, shape, axes []int, x []T) []T {
	n, count := 1, 1
	for d, s := range shape {
		if slices.Contains(axes, d) {
			count *= s
		} else {
			n *= s
		}
	}
	acc := make([]float64, n)
	for i := range acc {
		acc[i] = start[float64](op)
	}
	for i, value := range x {
		at, rest, step := 0, i, 1
		for d := len(shape) - 1; d >= 0; d-- {
			if !slices.Contains(axes, d) {
				at += rest % shape[d] * step
				step *= shape[d]
			}
			rest /= shape[d]
		}
		v := float64(value)
		switch op {
		case ReduceSum, ReduceMean:
			acc[at] += v
		case ReduceMax:
			acc[at] = max(acc[at], v)
		case ReduceMin:
			acc[at] = min(acc[at], v)
		case ReduceProd:
			acc[at] *= v
		case ReduceSumSq:
			acc[at] += v * v
		case ReduceL1:
			acc[at] += math.Abs(v)
		}
	}
	y := make([]T, n)
	for i, v := range acc {
		if op == ReduceMean {
			v /= float64(count)
		}
		y[i] = T(v)
	}
	return y
}

func testReduce[T kernel.Float](t *testing.T, tol float64) {
	cases := []struct{ shape, axes []int }{
		{[]int{3, 4, 5}, []int{1}}, {[]int{3, 4, 5}, []int{2, 0}}, {[]int{3, 4, 5}, []int{0, 1, 2}}, {[]int{3, 4, 5}, nil},
		{[]int{2, 3, 4, 5, 3}, []int{1, 3}}, {[]int{2, 1, 3, 1}, []int{1}}, {[]int{4, 0, 3}, []int{1}}, {[]int{100, 230}, []int{0}},
		{[]int{100, 230}, []int{1}}, {[]int{301, 170}, []int{0}}, {[]int{2, 60, 170}, []int{1}}, {nil, nil}, {[]int{33000}, []int{0}}, {[]int{0, 3}, []int{1}},
	}
	for name, p := range kerneltest.Pools(t) {
		for _, c := range cases {
			for _, op := range reduceOps {
				x := kerneltest.Random[T](size(c.shape), 1)
				if len(x) > 20 {
					x[len(x)/2] = T(math.NaN())
				}
				if op == ReduceProd && len(x) > 1000 {
					for i, v := range kerneltest.Random[T](len(x), 3) { // factors that repeat would be rounded alike
						x[i] = 1 + v*1e-4
					}
				}
				want := reduceReference(op, c.shape, c.axes, x)
				got := kerneltest.Random[T](len(want), 2)
				ReduceAxes(p, op, c.shape, c.axes, got, x, nil)
				near := tol
				if op == ReduceProd && len(x) > kernel.LongRow { // products close to 1, of few factors, are all rounded towards it
					near = max(tol, 1e-3)
				}
				kerneltest.Near(t, fmt.Sprint(name, c, " op ", op), got, want, near)
			}
		}
	}
}

func TestReduce(t *testing.T) {
	t.Run("float32", func(t *testing.T) { testReduce[float32](t, 1e-4) })
	t.Run("float64", func(t *testing.T) { testReduce[float64](t, 1e-11) })
}

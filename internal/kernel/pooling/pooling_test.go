package pooling

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/graft-ml/graft/internal/kernel"
	"github.com/graft-ml/graft/internal/kernel/kerneltest"
)

// wide has windows of so many elements that its rows are taken few at a time.
var wide = Shape{N: 1, C: 2, In: []int{9, 1500}, Out: []int{4, 1301}, Kernel: []int{3, 200}, Stride: []int{2, 1}}

var poolShapes = []Shape{
	{N: 2, C: 3, In: []int{10, 13}, Out: []int{3, 3}, Kernel: []int{3, 4}, Stride: []int{3, 4}},
	{N: 1, C: 5, In: []int{4, 6, 8}, Out: []int{2, 2, 4}, Kernel: []int{2, 3, 2}, Stride: []int{2, 3, 2}},
	{N: 2, C: 3, In: []int{8, 9}, Kernel: []int{2, 2}, Out: []int{4, 4}, Stride: []int{2, 2}},
	{N: 1, C: 2, In: []int{7, 7}, Kernel: []int{3, 3}, Out: []int{4, 4}, Stride: []int{2, 2}, PadBegin: []int{1, 1}, PadEnd: []int{1, 1}, CountIncludePad: true},
	{N: 2, C: 2, In: []int{6, 6}, Kernel: []int{3, 3}, Out: []int{3, 3}, Stride: []int{2, 2}},
	{N: 2, C: 2, In: []int{6, 6}, Kernel: []int{3, 3}, Out: []int{3, 3}, Stride: []int{2, 2}, CountIncludePad: true},
	{N: 1, C: 3, In: []int{9, 5}, Kernel: []int{2, 3}, Out: []int{7, 3}, Dilation: []int{2, 1}, PadBegin: []int{0, 0}},
	{N: 1, C: 3, In: []int{9, 5}, Kernel: []int{2, 3}, Out: []int{9, 3}, Dilation: []int{2, 2}, PadBegin: []int{1, 1}, PadEnd: []int{1, 1}},
	{N: 2, C: 2, In: []int{11}, Kernel: []int{4}, Out: []int{4}, Stride: []int{3}, PadBegin: []int{1}, PadEnd: []int{0}},
	{N: 1, C: 2, In: []int{4, 5, 6}, Kernel: []int{2, 2, 3}, Out: []int{3, 2, 4}, Stride: []int{1, 2, 1}},
	{N: 2, C: 3, In: []int{4, 6, 8}, Kernel: []int{2, 2, 2}, Out: []int{2, 3, 4}, Stride: []int{2, 2, 2}},
	{N: 1, C: 3, In: []int{5, 7, 9}, Kernel: []int{3, 3, 3}, Out: []int{3, 4, 5}, Stride: []int{2, 2, 2}, PadBegin: []int{1, 1, 1}, PadEnd: []int{1, 1, 1}},
	{N: 1, C: 2, In: []int{3, 4, 5}, Kernel: []int{2, 1, 2}, Out: []int{6, 6, 3}, Dilation: []int{1, 1, 2}, PadBegin: []int{2, 1, 0}, PadEnd: []int{2, 1, 0}},
	{N: 1, C: 2, In: []int{6, 40}, Kernel: []int{3, 3}, Out: []int{3, 20}, Stride: []int{2, 2}, PadBegin: []int{1, 1}, PadEnd: []int{1, 1}},
	{N: 1, C: 2, In: []int{6, 41}, Kernel: []int{2, 2}, Out: []int{3, 21}, Stride: []int{2, 2}},
	{N: 3, C: 4, In: []int{7, 7}, Kernel: []int{7, 7}, Out: []int{1, 1}},
	{N: 1, C: 1, In: []int{2, 2}, Kernel: []int{1, 1}, Out: []int{4, 4}, PadBegin: []int{1, 1}, PadEnd: []int{1, 1}},
}

// visitWindows calls f for each output and each position of its window, with the
// flat input index or -1 outside, and whether the position is in the padded input.
func visitWindows(s *Shape, f func(yi, xi int, padded bool)) {
	d := len(s.In)
	at := func(v []int, i, fallback int) int {
		if v == nil {
			return fallback
		}
		return v[i]
	}
	var walk func(dim, xi, yi int, inside, padded bool)
	walk = func(dim, xi, yi int, inside, padded bool) {
		if dim == d {
			if !inside {
				xi = -1
			}
			f(yi, xi, padded)
			return
		}
		for o := range s.Out[dim] {
			for k := range s.Kernel[dim] {
				i := o*at(s.Stride, dim, 1) + k*at(s.Dilation, dim, 1) - at(s.PadBegin, dim, 0)
				in := i >= 0 && i < s.In[dim]
				walk(dim+1, xi*s.In[dim]+i, yi*s.Out[dim]+o, inside && in, padded && i < s.In[dim]+at(s.PadEnd, dim, 0))
			}
		}
	}
	for i := range s.N * s.C {
		walk(0, i, i, true, true)
	}
}

func testPooling[T kernel.Float](t *testing.T, tol float64) {
	for name, p := range kerneltest.Pools(t) {
		for i, s := range append(slices.Clone(poolShapes), wide) {
			s := &s
			x := kerneltest.Random[T](s.N*s.C*kerneltest.Product1(s.In), 1)
			n := s.N * s.C * kerneltest.Product1(s.Out)
			if len(x) > 50 {
				x[20] = T(math.NaN())
			}
			best, where := make([]T, n), make([]int64, n)
			total, count := make([]float64, n), make([]float64, n)
			for q := range best {
				best[q], where[q] = T(math.Inf(-1)), -1
			}
			visitWindows(s, func(yi, xi int, padded bool) {
				if xi >= 0 {
					if v := x[xi]; v > best[yi] || v != v && best[yi] == best[yi] {
						best[yi], where[yi] = v, int64(xi)
					}
					total[yi] += float64(x[xi])
				}
				if xi >= 0 || s.CountIncludePad && padded {
					count[yi]++
				}
			})
			what := fmt.Sprint(name, " ", i, " ", *s)
			y, index := make([]T, n), make([]int64, n)
			Max(p, s, x, y, index)
			kerneltest.Near(t, what+" max", y, best, 0)
			for q := range index {
				if index[q] != where[q] {
					t.Fatalf("%s: index %d is %d, want %d", what, q, index[q], where[q])
				}
			}
			Max(p, s, x, y, nil)
			kerneltest.Near(t, what+" max without index", y, best, 0)

			want := make([]T, n)
			for q := range want {
				want[q] = T(total[q] / max(1, count[q]))
			}
			Average(p, s, x, y, nil)
			kerneltest.Near(t, what+" average", y, want, tol)

			dy := kerneltest.Random[T](n, 2)
			dmax, davg := make([]T, len(x)), make([]T, len(x))
			visitWindows(s, func(yi, xi int, _ bool) {
				if xi >= 0 {
					davg[xi] += dy[yi] / T(max(1, count[yi]))
				}
			})
			for q, at := range where {
				if at >= 0 {
					dmax[at] += dy[q]
				}
			}
			dx := kerneltest.Random[T](len(x), 3)
			MaxGrad(p, s, dy, index, dx)
			kerneltest.Near(t, what+" max gradient", dx, dmax, tol)
			AverageGrad(p, s, dy, dx, nil)
			kerneltest.Near(t, what+" average gradient", dx, davg, tol)
		}
	}
}

func TestPooling(t *testing.T) {
	t.Run("float32", func(t *testing.T) { testPooling[float32](t, 1e-5) })
	t.Run("float64", func(t *testing.T) { testPooling[float64](t, 1e-13) })
}

func TestMaxPoolOfMinusInf(t *testing.T) {
	inf := float32(math.Inf(-1))
	x, y, index := []float32{inf, inf, inf, 1}, make([]float32, 2), make([]int64, 2)
	Max(nil, &Shape{N: 1, C: 1, In: []int{4}, Kernel: []int{2}, Out: []int{2}, Stride: []int{2}}, x, y, index)
	if index[0] != 0 || index[1] != 3 {
		t.Errorf("indices %v, want [0 3]", index)
	}
}

func TestLpPool(t *testing.T) {
	for _, ord := range []float64{1, 2, 3} {
		for i := range poolShapes {
			s := &poolShapes[i]
			x := kerneltest.Random[float64](s.N*s.C*kerneltest.Product1(s.In), 1)
			n := s.N * s.C * kerneltest.Product1(s.Out)
			want, y := make([]float64, n), make([]float64, n)
			visitWindows(s, func(yi, xi int, _ bool) {
				if xi >= 0 {
					want[yi] += math.Pow(math.Abs(x[xi]), ord)
				}
			})
			for q, v := range want {
				want[q] = math.Pow(v, 1/ord)
			}
			Lp(nil, s, ord, x, y)
			kerneltest.Near(t, fmt.Sprint(ord, *s), y, want, 1e-12)
			dy, dx := kerneltest.Random[float64](n, 2), make([]float64, len(x))
			LpGrad(nil, s, ord, x, y, dy, dx)
			kerneltest.Slope(t, fmt.Sprint(ord, *s), x, dx, func() float64 { Lp(nil, s, ord, x, y); return kerneltest.Weighted(y, dy) })
		}
	}
}

func BenchmarkPooling(b *testing.B) {
	for _, s := range []Shape{
		{N: 4, C: 64, In: []int{112, 112}, Kernel: []int{3, 3}, Out: []int{56, 56}, Stride: []int{2, 2}, PadBegin: []int{1, 1}, PadEnd: []int{1, 1}},
		{N: 32, C: 16, In: []int{28, 28}, Kernel: []int{2, 2}, Out: []int{14, 14}, Stride: []int{2, 2}},
	} {
		x := kerneltest.Random[float32](s.N*s.C*kerneltest.Product1(s.In), 1)
		n := s.N * s.C * kerneltest.Product1(s.Out)
		y, index := make([]float32, n), make([]int64, n)
		for name, f := range map[string]func(){
			"max":         func() { Max(nil, &s, x, y, nil) },
			"maxindex":    func() { Max(nil, &s, x, y, index) },
			"maxgrad":     func() { MaxGrad(nil, &s, y, index, x) },
			"average":     func() { Average(nil, &s, x, y, nil) },
			"averagegrad": func() { AverageGrad(nil, &s, y, x, nil) },
		} {
			b.Run(fmt.Sprintf("%v/%s", s.Kernel, name), func(b *testing.B) {
				b.SetBytes(int64(4 * len(x)))
				for b.Loop() {
					f()
				}
			})
		}
	}
}

func TestAssemblyPooling(t *testing.T) {
	for _, n := range []int{1, 2, 9, 16, 21, 40} {
		s := &Shape{N: 1, C: 2, In: []int{n, n + 3}, Out: []int{n, n + 3}, Kernel: []int{3, 3}, PadBegin: []int{1, 1}, PadEnd: []int{1, 1}}
		x := kerneltest.Small(2*n*(n+3), 1, 7)
		index, want := make([]int64, len(x)), make([]int64, len(x))
		kerneltest.Against(t, fmt.Sprint("MaxPool ", n), len(x), 0, func(y []float32) { Max(nil, s, x, y, index) })
		kerneltest.Portably(func() { Max(nil, s, x, make([]float32, len(x)), want) })
		Max(nil, s, x, make([]float32, len(x)), index)
		if !slices.Equal(index, want) {
			t.Errorf("MaxPool %d: indices %v, the portable kernel has %v", n, index, want)
		}
	}
	for _, n := range []int{2, 3, 9, 16, 21, 40} {
		s := &Shape{N: 2, C: 3, In: []int{n, n + 3}, Out: []int{n / 2, (n + 3) / 2}, Kernel: []int{2, 2}, Stride: []int{2, 2}}
		in, out := 6*n*(n+3), 6*(n/2)*((n+3)/2)
		x, dy := kerneltest.Small(in, 1, 0), kerneltest.Small(out, 2, 0)
		kerneltest.Against(t, fmt.Sprint("AveragePool ", n), out, 0, func(y []float32) { Average(nil, s, x, y, nil) })
		kerneltest.Against(t, fmt.Sprint("AveragePoolGrad ", n), in, 0, func(dx []float32) { AverageGrad(nil, s, dy, dx, nil) })
	}
}

package pooling

import (
	"math"

	"github.com/graft-ml/graft/internal/kernel"
)

// Lp computes (Σ |x|^ord)^(1/ord) over the windows.
func Lp[T kernel.Float](p *kernel.Pool, s *Shape, ord float64, x, y []T) {
	w := s.window()
	in, out := w.in.Size(), w.out.Size()
	step := w.dil[2]
	s.planes(p, &w, func(i int) {
		xs, ys := x[i*in:][:in], y[i*out:][:out]
		kernel.Clear(p, ys)
		w.each(p, func(o, at, count int) {
			for range count {
				ys[o] += T(power(math.Abs(float64(xs[at])), ord))
				at += step
			}
		})
		p.Range(out, kernel.FunctionGrain, func(lo, hi int) {
			for o := lo; o < hi; o++ {
				ys[o] = T(power(float64(ys[o]), 1/ord))
			}
		})
	})
}

// LpGrad computes dx, overwriting it, from x, the output y and dy:
// dx = Σ dy * sign(x) * (|x|/y)^(ord-1), 0 where y is 0.
func LpGrad[T kernel.Float](p *kernel.Pool, s *Shape, ord float64, x, y, dy, dx []T) {
	w := s.window()
	in, out := w.in.Size(), w.out.Size()
	step := w.dil[2]
	s.planes(p, &w, func(i int) {
		xs, ys, ds, gs := x[i*in:][:in], y[i*out:][:out], dx[i*in:][:in], dy[i*out:][:out]
		kernel.Clear(p, ds)
		w.each(p, func(o, at, count int) {
			if ys[o] == 0 {
				return
			}
			for range count {
				v := float64(xs[at])
				if v != 0 {
					r := power(math.Abs(v)/float64(ys[o]), ord-1)
					ds[at] += gs[o] * T(math.Copysign(r, v))
				}
				at += step
			}
		})
	})
}

// power is math.Pow without its cost for the usual exponents.
func power(x, e float64) float64 {
	switch e {
	case 0:
		return 1
	case 1:
		return x
	case 2:
		return x * x
	case 0.5:
		return math.Sqrt(x)
	}
	return math.Pow(x, e)
}

package pooling

import (
	"github.com/graft-ml/graft/internal/kernel"
	"github.com/graft-ml/graft/internal/kernel/convolution"
	"github.com/graft-ml/graft/internal/kernel/elementwise"
	"github.com/graft-ml/graft/internal/kernel/reduce"
)

// Average computes the means of the windows, 0 where a window is empty.
func Average[T kernel.Float](p *kernel.Pool, s *Shape, x, y []T, scratch kernel.Scratch[T]) {
	w := s.window()
	in, out, ker := w.in.Size(), w.out.Size(), w.ker.Size()
	if w.whole() {
		p.Range(s.N*s.C, convolution.PlaneGrain(4*in), func(lo, hi int) { reduce.RowMeans(hi-lo, in, x[lo*in:], y[lo:]) })
		return
	}
	if kernel.IsFloat32[T]() && out > 0 && w.quarters() {
		meanQuarters(p, s, &w, kernel.Float32s(x), kernel.Float32s(y))
		return
	}
	if w.tiles() {
		meanTiles(p, s, &w, x, y)
		return
	}
	buffer := kernel.Take(scratch, out+s.C*ker)
	n, ones := buffer[:out], buffer[out:]
	divisors(p, s, &w, n)
	elementwise.Fill(p, ones, 1)
	convolution.Forward(p, s.convolution(), x, ones, elementwise.Epilogue[T]{}, y, scratch)
	elementwise.BinaryRow(p, elementwise.OpDiv, s.N*s.C, out, y, y, n)
}

// whole reports whether a single window covers the whole plane.
func (w *window) whole() bool {
	return w.out.Size() == 1 && w.ker == w.in && w.pad == convolution.Triple{}
}

// AverageGrad computes dx from dy, overwriting it.
func AverageGrad[T kernel.Float](p *kernel.Pool, s *Shape, dy, dx []T, scratch kernel.Scratch[T]) {
	w := s.window()
	in, out, ker, planes := w.in.Size(), w.out.Size(), w.ker.Size(), s.N*s.C
	if w.whole() {
		s.planes(p, &w, func(i int) { elementwise.Fill(p, dx[i*in:][:in], dy[i]/T(in)) })
		return
	}
	if kernel.IsFloat32[T]() && out > 0 && w.quarters() {
		meanQuartersBack(p, s, &w, kernel.Float32s(dy), kernel.Float32s(dx))
		return
	}
	if w.tiles() {
		meanTilesBack(p, s, &w, dy, dx)
		return
	}
	buffer := kernel.Take(scratch, out+s.C*ker+planes*out)
	n, ones, share := buffer[:out], buffer[out:][:s.C*ker], buffer[out+s.C*ker:]
	divisors(p, s, &w, n)
	elementwise.Fill(p, ones, 1)
	elementwise.BinaryRow(p, elementwise.OpDiv, planes, out, share, dy, n)
	convolution.BackwardData(p, s.convolution(), share, ones, dx, scratch)
}

// meanQuarters is Average for windows of 2×2 side by side.
func meanQuarters(p *kernel.Pool, s *Shape, w *window, x, y []float32) {
	in, out := w.in[1]*w.in[2], w.out[1]*w.out[2]
	p.Range(s.N*s.C*w.in[0], convolution.PlaneGrain(4*out), func(lo, hi int) {
		for i := lo; i < hi; i++ {
			w.rowPairs(p, func(r, rows int) { mean2x2(rows, w.out[2], &x[i*in+2*r*w.in[2]], w.in[2]*4, &y[i*out+r*w.out[2]]) })
		}
	})
}

// meanQuartersBack is AverageGrad for such windows.
func meanQuartersBack(p *kernel.Pool, s *Shape, w *window, dy, dx []float32) {
	in, out := w.in[1]*w.in[2], w.out[1]*w.out[2]
	complete := 4*out == in
	p.Range(s.N*s.C*w.in[0], convolution.PlaneGrain(4*out), func(lo, hi int) {
		for i := lo; i < hi; i++ {
			if !complete {
				kernel.Clear(p, dx[i*in:][:in])
			}
			w.rowPairs(p, func(r, rows int) {
				mean2x2Back(rows, w.out[2], &dy[i*out+r*w.out[2]], &dx[i*in+2*r*w.in[2]], w.in[2]*4)
			})
		}
	})
}

// divisors sets n to the divisors of Average for the points of a plane.
func divisors[T kernel.Float](p *kernel.Pool, s *Shape, w *window, n []T) {
	kernel.Clear(p, n)
	padded := *w
	if s.CountIncludePad {
		for d := range 3 {
			padded.in[d] += w.pad[d] + w.padEnd[d]
			padded.pad[d] = 0
		}
	}
	padded.each(p, func(o, _, count int) { n[o] += T(count) })
	elementwise.BinaryScalar(p, elementwise.OpMax, n, n, 1)
}

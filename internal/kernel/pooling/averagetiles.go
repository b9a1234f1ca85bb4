package pooling

import (
	"github.com/graft-ml/graft/internal/kernel"
	"github.com/graft-ml/graft/internal/kernel/convolution"
	"github.com/graft-ml/graft/internal/kernel/elementwise"
)

// tiles reports whether the windows are adjacent and all inside: then each element belongs to at most one
// window, and each output row is computed from separate input rows.
func (w *window) tiles() bool {
	for d := range 3 {
		if w.stride[d] != w.ker[d] || w.dil[d] != 1 && w.ker[d] != 1 || w.pad[d] != 0 || w.out[d]*w.ker[d] > w.in[d] {
			return false
		}
	}
	return w.out.Size() > 0
}

// tileRows calls f for each row of outputs of a plane with the position of its first input row.
func (w *window) tileRows(f func(out, in int)) {
	for z := range w.out[0] {
		for y := range w.out[1] {
			f((z*w.out[1]+y)*w.out[2], (z*w.ker[0]*w.in[1]+y*w.ker[1])*w.in[2])
		}
	}
}

// tileInputs calls f with the position of each input row of a row of outputs whose first is at.
func (w *window) tileInputs(at int, f func(at int)) {
	for z := range w.ker[0] {
		for y := range w.ker[1] {
			f(at + (z*w.in[1]+y)*w.in[2])
		}
	}
}

// tileParts calls f for consecutive parts of a row of outputs that a cache holds.
func (w *window) tileParts(p *kernel.Pool, f func(lo, hi int)) {
	p.InPartsOf(w.out[2], max(1, kernel.CheckEvery/w.ker[2]), f)
}

// meanTiles is Average for such windows: rows are added up first, then their elements.
func meanTiles[T kernel.Float](p *kernel.Pool, s *Shape, w *window, x, y []T) {
	in, out := w.in.Size(), w.out.Size()
	p.Range(s.N*s.C, convolution.PlaneGrain(in), func(lo, hi int) {
		buffer := kernel.Borrow[T](min(w.in[2], max(1<<16, w.ker[2])))
		defer kernel.GiveBack(buffer)
		for i := lo; i < hi; i++ {
			w.tileRows(func(to, from int) {
				p.Check()
				w.tileParts(p, func(lo, hi int) {
					first, sums := lo*w.ker[2], (*buffer)[:(hi-lo)*w.ker[2]]
					clear(sums)
					w.tileInputs(i*in+from+first, func(at int) { elementwise.BinaryInto(elementwise.OpAdd, sums, sums, x[at:][:len(sums)]) })
					for k := range hi - lo {
						total := T(0)
						for _, v := range sums[k*w.ker[2]:][:w.ker[2]] {
							total += v
						}
						y[i*out+to+lo+k] = total / T(w.ker.Size())
					}
				})
			})
		}
	})
}

// meanTilesBack is AverageGrad for such windows.
func meanTilesBack[T kernel.Float](p *kernel.Pool, s *Shape, w *window, dy, dx []T) {
	in, out := w.in.Size(), w.out.Size()
	p.Range(s.N*s.C, convolution.PlaneGrain(in), func(lo, hi int) {
		buffer := kernel.Borrow[T](min(w.in[2], max(1<<16, w.ker[2])))
		defer kernel.GiveBack(buffer)
		for i := lo; i < hi; i++ {
			if out*w.ker.Size() < in {
				kernel.Clear(p, dx[i*in:][:in])
			}
			w.tileRows(func(from, to int) {
				p.Check()
				w.tileParts(p, func(lo, hi int) {
					shares := (*buffer)[:(hi-lo)*w.ker[2]]
					for k, v := range dy[i*out+from:][lo:hi] {
						elementwise.Fill(nil, shares[k*w.ker[2]:][:w.ker[2]], v/T(w.ker.Size()))
					}
					w.tileInputs(i*in+to+lo*w.ker[2], func(at int) { copy(dx[at:], shares) })
				})
			})
		}
	})
}

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

// meanTiles is Average for such windows: rows are added up first, then their elements.
func meanTiles[T kernel.Float](p *kernel.Pool, s *Shape, w *window, x, y []T) {
	in, out, width := w.in.Size(), w.out.Size(), w.in[2]
	p.Range(s.N*s.C, convolution.PlaneGrain(in), func(lo, hi int) {
		buffer := kernel.Borrow[T](width)
		defer kernel.GiveBack(buffer)
		sums := (*buffer)[:width]
		for i := lo; i < hi; i++ {
			w.tileRows(func(to, from int) {
				p.Check()
				clear(sums)
				w.tileInputs(i*in+from, func(at int) { elementwise.BinaryInto(elementwise.OpAdd, sums, sums, x[at:][:width]) })
				row := y[i*out+to:][:w.out[2]]
				for k := range row {
					total := T(0)
					for _, v := range sums[k*w.ker[2]:][:w.ker[2]] {
						total += v
					}
					row[k] = total / T(w.ker.Size())
				}
			})
		}
	})
}

// meanTilesBack is AverageGrad for such windows.
func meanTilesBack[T kernel.Float](p *kernel.Pool, s *Shape, w *window, dy, dx []T) {
	in, out, width := w.in.Size(), w.out.Size(), w.in[2]
	p.Range(s.N*s.C, convolution.PlaneGrain(in), func(lo, hi int) {
		buffer := kernel.Borrow[T](width)
		defer kernel.GiveBack(buffer)
		shares := (*buffer)[:width]
		clear(shares)
		for i := lo; i < hi; i++ {
			if out*w.ker.Size() < in {
				clear(dx[i*in:][:in])
			}
			w.tileRows(func(from, to int) {
				p.Check()
				for k, v := range dy[i*out+from:][:w.out[2]] {
					elementwise.Fill(nil, shares[k*w.ker[2]:][:w.ker[2]], v/T(w.ker.Size()))
				}
				w.tileInputs(i*in+to, func(at int) { copy(dx[at:], shares) })
			})
		}
	})
}

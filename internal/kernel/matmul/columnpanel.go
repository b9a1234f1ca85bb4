package matmul

import "github.com/graft-ml/graft/internal/kernel"

// colPanel is up to NR adjacent columns of the product.
type colPanel[T kernel.Float] struct {
	b     []T // the current rows of B, rsB elements apart
	rsB   int
	cols  int
	run   bool    // the columns are contiguous in C …
	whole bool    // … and are nr
	at    [NR]int // offsets of the columns in a row of C; of a run only the first
	tile  []T     // buffer instead of C if the columns are not a whole run
}

// aim sets s to the columns from j on, within jc to je.
func (w *worker[T]) aim(s *colPanel[T], j, jc, je int) {
	s.cols = min(NR, je-j)
	image, at := 0, j
	if w.Where == nil && j >= w.Span { // division is slow
		image, at = j/w.Span, j%w.Span
	}
	if w.Where == nil && at+s.cols <= w.Span {
		s.at[0], s.run = image*w.Image+at, true
	} else {
		w.locate(&s.at, j, s.cols)
		s.run = s.at[s.cols-1]-s.at[0] == s.cols-1
	}
	s.whole = s.run && s.cols == NR
	s.rsB = NR
	switch {
	case w.Packed != nil:
		s.b = w.Packed[w.l*kernel.CeilDiv(w.N, NR)*NR+j*w.kc:]
	case w.inPlace && s.cols == NR:
		s.b, s.rsB = w.direct[w.l*w.ldb+j:], w.ldb
	default:
		s.b = w.colPanels[(j-jc)*w.kc:]
	}
}

// target is where the micro-kernel writes rows i to i+rows of s.
func (w *worker[T]) target(s *colPanel[T], i, rows int) (c []T, ldc int) {
	if s.whole {
		return w.C[s.at[0]+i*w.LDC:][:(rows-1)*w.LDC+NR], w.LDC
	}
	if w.flags&FlagAdd != 0 {
		for r := range rows {
			c, t := w.C[(i+r)*w.LDC:], s.tile[r*NR:][:NR]
			if s.run {
				copy(t, c[s.at[0]:][:s.cols])
				continue
			}
			for q, v := range s.at[:s.cols] {
				t[q] = c[v]
			}
		}
	}
	return s.tile, NR
}

// scatter copies a tile to C.
func (w *worker[T]) scatter(s *colPanel[T], i, rows int) {
	if s.whole {
		return
	}
	for r := range rows {
		c, t := w.C[(i+r)*w.LDC:], s.tile[r*NR:][:NR]
		if s.run {
			copy(c[s.at[0]:][:s.cols], t)
			continue
		}
		for q, v := range s.at[:s.cols] {
			c[v] = t[q]
		}
	}
}

// locate computes the offsets of the columns j to j+cols in a row of C.
func (w *worker[T]) locate(at *[NR]int, j, cols int) {
	if w.Where != nil {
		w.Where(j, cols, at)
		return
	}
	q, r := j/w.Span, j%w.Span
	for i := range cols {
		at[i] = q*w.Image + r
		if r++; r == w.Span {
			q, r = q+1, 0
		}
	}
}

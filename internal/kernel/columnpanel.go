package kernel

// strip is up to nr columns of the product.
type strip[T Float] struct {
	b     []T // the current rows of B, rsB elements apart
	rsB   int
	cols  int
	run   bool    // the columns lie together in C …
	whole bool    // … and are nr
	at    [nr]int // where the columns lie in a row of C; of a run the first only
	tile  []T     // in place of C where they are not
}

// aim sets s to the columns from j on, of jc to je.
func (w *worker[T]) aim(s *strip[T], j, jc, je int) {
	s.cols = min(nr, je-j)
	image, at := 0, j
	if w.where == nil && j >= w.span { // division is slow
		image, at = j/w.span, j%w.span
	}
	if w.where == nil && at+s.cols <= w.span {
		s.at[0], s.run = image*w.image+at, true
	} else {
		w.locate(&s.at, j, s.cols)
		s.run = s.at[s.cols-1]-s.at[0] == s.cols-1
	}
	s.whole = s.run && s.cols == nr
	s.rsB = nr
	switch {
	case w.packed != nil:
		s.b = w.packed[w.l*cdiv(w.n, nr)*nr+j*w.kc:]
	case w.inPlace && s.cols == nr:
		s.b, s.rsB = w.direct[w.l*w.ldb+j:], w.ldb
	default:
		s.b = w.strips[(j-jc)*w.kc:]
	}
}

// target is where the micro-kernel writes rows i to i+rows of s.
func (w *worker[T]) target(s *strip[T], i, rows int) (c []T, ldc int) {
	if s.whole {
		return w.c[s.at[0]+i*w.ldc:][:(rows-1)*w.ldc+nr], w.ldc
	}
	if w.flags&flagAdd != 0 {
		for r := range rows {
			c, t := w.c[(i+r)*w.ldc:], s.tile[r*nr:][:nr]
			if s.run {
				copy(t, c[s.at[0]:][:s.cols])
				continue
			}
			for q, v := range s.at[:s.cols] {
				t[q] = c[v]
			}
		}
	}
	return s.tile, nr
}

// scatter copies a tile to where it belongs.
func (w *worker[T]) scatter(s *strip[T], i, rows int) {
	if s.whole {
		return
	}
	for r := range rows {
		c, t := w.c[(i+r)*w.ldc:], s.tile[r*nr:][:nr]
		if s.run {
			copy(c[s.at[0]:][:s.cols], t)
			continue
		}
		for q, v := range s.at[:s.cols] {
			c[v] = t[q]
		}
	}
}

// locate finds where columns j to j+cols lie in a row of C.
func (w *worker[T]) locate(at *[nr]int, j, cols int) {
	if w.where != nil {
		w.where(j, cols, at)
		return
	}
	q, r := j/w.span, j%w.span
	for i := range cols {
		at[i] = q*w.image + r
		if r++; r == w.span {
			q, r = q+1, 0
		}
	}
}

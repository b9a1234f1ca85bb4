package kernel

// part computes rows i0 to i1 and columns j0 to j1, of the inner dimension l0 to l1;
// i0 and j0 are multiples of mr and nr.
func (x *product[T]) part(i0, i1, j0, j1, l0, l1 int) {
	kc := depth(l1 - l0)
	nc, mc := min(ncMax, j1-j0), min(mcMax, i1-i0)
	w := worker[T]{
		product: x,
		packA:   x.left == nil && (x.alpha != 1 || j1-j0 >= 192),
		inPlace: x.direct != nil && i1-i0 <= 2*mr,
	}
	strips, panels := cdiv(nc, nr)*nr*kc, cdiv(mc, mr)*mr*(kc+16)
	if x.packed != nil {
		strips = 0
	}
	const tiles = 2 * 2 * mr * nr
	buffer := borrow[T](tiles + strips + panels)
	defer giveBack(buffer)
	for i := range w.strip {
		w.strip[i].tile = (*buffer)[i*tiles/2:][:tiles/2]
	}
	w.strips = (*buffer)[tiles:][:strips]
	w.panels = (*buffer)[tiles+strips:][:panels]
	for jc := j0; jc < j1; jc += nc {
		je := min(jc+nc, j1)
		if x.beta != 0 && x.beta != 1 {
			scaleRows(i1-i0, je-jc, x.beta, x.c[i0*x.ldc+jc:], x.ldc)
		}
		for l := l0; l < l1; l += kc {
			w.l, w.kc = l, min(kc, l1-l)
			w.flags = x.flags(l > l0 || x.beta != 0, l+w.kc == l1)
			w.packStrips(jc, je)
			for ic := i0; ic < i1; ic += mc {
				w.block(ic, min(ic+mc, i1), jc, je)
			}
		}
	}
}

// depth is into which pieces an inner dimension k is cut.
func depth(k int) int {
	kc := cdiv(k, cdiv(k, kcMax))
	if kc < k {
		kc = cdiv(kc, 8) * 8
	}
	return kc
}

// flags is what the micro-kernel has to do for a piece of the inner dimension.
func (x *product[T]) flags(add, last bool) (flags int) {
	if add {
		flags |= flagAdd
	}
	if last && x.bias != nil {
		flags |= flagBias
	}
	if last && x.relu {
		flags |= flagRelu
	}
	return flags
}

// worker is the state of one part.
type worker[T Float] struct {
	*product[T]
	packA, inPlace bool
	strips, panels []T
	l, kc, flags   int
	strip          [2]strip[T]
}

// packStrips packs columns jc to je of the current rows of B, all of them or, where
// B is used in place, an incomplete last strip.
func (w *worker[T]) packStrips(jc, je int) {
	from := jc
	if w.packed != nil {
		return
	}
	if w.inPlace {
		from += (je - jc) / nr * nr
	}
	if from < je {
		w.b.pack(w.l, w.kc, from, je, w.strips[(from-jc)*w.kc:])
	}
}

// block multiplies rows ic to ie with the packed columns jc to je.
func (w *worker[T]) block(ic, ie, jc, je int) {
	fillLD := (w.kc+7)&^7 + 8
	switch {
	case w.left != nil:
		w.left.fill(ic, ie-ic, w.l, w.kc, w.panels, fillLD)
	case w.packA:
		for i := ic; i < ie; i += mr {
			w.packPanel(i, min(mr, ie-i), w.panels[(i-ic)*w.kc:][:mr*w.kc])
		}
	}
	for j := jc; j < je; {
		pair := avx512 && single[T]() && ie-ic >= 2*mr && je-j > nr && (!w.inPlace || je-j >= 2*nr)
		w.aim(&w.strip[0], j, jc, je)
		j += nr
		if pair {
			w.aim(&w.strip[1], j, jc, je)
			j += nr
		}
		for i, rows := ic, 0; i < ie; i += rows {
			rows = min(mr, ie-i)
			if avx512 && ie-i >= 2*mr && single[T]() {
				rows = 2 * mr
			}
			var a, a2, bias []T // a2: the second half of 2*mr rows
			var rsA, csA int
			switch {
			case w.left != nil:
				a, rsA, csA = w.panels[(i-ic)*fillLD:], fillLD, 1
			case w.packA:
				a, rsA, csA = w.panels[(i-ic)*w.kc:], 1, mr
			default:
				a, rsA, csA = w.a[i*w.rsA+w.l*w.csA:], w.rsA, w.csA
			}
			switch {
			case rows <= mr:
			case w.packA:
				a2 = a[mr*w.kc:]
			default:
				a2 = a[mr*rsA:]
			}
			if w.flags&flagBias != 0 {
				bias = w.bias[i:][:rows]
			}
			s, s2 := &w.strip[0], &w.strip[1]
			if pair && rows == 2*mr {
				c, ldc := w.target(s, i, rows)
				c2, ldc2 := w.target(s2, i, rows)
				microPair(w.kc, a, a2, rsA, csA, s.b, s2.b, s.rsB, c, ldc, c2, ldc2, w.flags, bias)
				w.scatter(s, i, rows)
				w.scatter(s2, i, rows)
				continue
			}
			for q := range w.strip {
				if q == 1 && !pair {
					break
				}
				s := &w.strip[q]
				c, ldc := w.target(s, i, rows)
				micro(rows, w.kc, a, a2, rsA, csA, s.b, s.rsB, c, ldc, w.flags, bias)
				w.scatter(s, i, rows)
			}
		}
	}
}

// strip is up to nr columns of the product.
type strip[T Float] struct {
	b     []T // the current rows of B, rsB elements apart
	rsB   int
	cols  int
	whole bool    // all nr columns are there, and lie together in C
	at    [nr]int // where the columns lie in a row of C
	tile  []T     // in place of C where they do not
}

// aim sets s to the columns from j on, of jc to je.
func (w *worker[T]) aim(s *strip[T], j, jc, je int) {
	s.cols = min(nr, je-j)
	s.whole = w.locate(&s.at, j, s.cols)
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
		for q, v := range s.at[:s.cols] {
			c[v] = t[q]
		}
	}
}

// locate finds where columns j to j+cols lie in a row of C, and whether they are a
// full strip in one piece.
func (w *worker[T]) locate(at *[nr]int, j, cols int) bool {
	if w.where != nil {
		w.where(j, cols, at)
	} else {
		q, r := j/w.span, j%w.span
		for i := range cols {
			at[i] = q*w.image + r
			if r++; r == w.span {
				q, r = q+1, 0
			}
		}
	}
	return cols == nr && at[nr-1]-at[0] == nr-1
}

package kernel

// part computes rows i0 to i1 and columns j0 to j1, of the inner dimension l0 to l1;
// j0 is a multiple of nr.
func (x *product[T]) part(i0, i1, j0, j1, l0, l1 int) {
	w := worker[T]{product: x, i0: i0, i1: i1, wide: avx512 && single[T](), tall: mr}
	if w.wide && i1-i0 > mr {
		w.tall = 2 * mr
	}
	w.blocks = cdiv(i1-i0, w.tall)
	w.packA = x.left == nil && (x.alpha != 1 || j1-j0 >= 192)
	w.inPlace = x.direct != nil && (w.blocks == 1 || i1-i0 <= 2*mr)
	w.onTheWay = x.direct != nil && !w.inPlace && simd && single[T]()
	w.unit = nr
	if w.wide {
		w.unit = 2 * nr
	}
	kc := depth(l1 - l0)
	nc, blocks := min(ncMax, j1-j0), min(mcMax/w.tall, w.blocks)
	strips, panels := cdiv(nc, nr)*nr*kc, blocks*w.tall*(kc+16)
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
			for q := 0; q < w.blocks; q += blocks {
				w.multiply(q, min(q+blocks, w.blocks), jc, je)
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

// worker is the state of one part. Its rows are cut to blocks as equal as can be, of at most tall
// rows, because a short last block would keep the registers half empty.
type worker[T Float] struct {
	*product[T]
	i0, i1, tall, blocks int
	wide                 bool // blocks of up to 2*mr rows and two strips
	packA, inPlace       bool
	onTheWay             bool // the first block packs B as it reads it, unit columns at a time
	unit                 int
	strips, panels       []T
	l, kc, flags         int
	strip                [2]strip[T]
}

// row is the first row of block q.
func (w *worker[T]) row(q int) int { return w.i0 + q*(w.i1-w.i0)/w.blocks }

// packStrips packs columns jc to je of the current rows of B: all of them or, where others read B
// in place, an incomplete last strip.
func (w *worker[T]) packStrips(jc, je int) {
	from := jc
	if w.packed != nil {
		return
	}
	switch {
	case w.inPlace:
		from += (je - jc) / nr * nr
	case w.onTheWay:
		from += (je - jc) / w.unit * w.unit
	}
	if from < je {
		w.b.pack(w.l, w.kc, from, je, w.strips[(from-jc)*w.kc:])
	}
}

// block is some rows of the left operand.
type block[T Float] struct {
	i, rows  int
	a, a2    []T // the rows, those from mr on in a2
	rsA, csA int
	bias     []T
}

// fillLD is how far apart the rows of a left operand lie that is not in memory.
func (w *worker[T]) fillLD() int { return (w.kc+7)&^7 + 8 }

// prepare packs blocks q0 to q1 of the left operand.
func (w *worker[T]) prepare(q0, q1 int) {
	switch {
	case w.left != nil:
		i := w.row(q0)
		w.left.fill(i, w.row(q1)-i, w.l, w.kc, w.panels, w.fillLD())
	case w.packA:
		for q := q0; q < q1; q++ {
			dst := w.panels[(q-q0)*w.tall*w.kc:]
			for i, ie := w.row(q), w.row(q+1); i < ie; i += mr {
				w.packPanel(i, min(mr, ie-i), dst[:mr*w.kc])
				dst = dst[mr*w.kc:]
			}
		}
	}
}

// block finds block q, the first prepared one being q0.
func (w *worker[T]) block(q, q0 int) (b block[T]) {
	b.i = w.row(q)
	b.rows = w.row(q+1) - b.i
	switch {
	case w.left != nil:
		b.rsA, b.csA = w.fillLD(), 1
		b.a = w.panels[(b.i-w.row(q0))*b.rsA:]
	case w.packA:
		b.rsA, b.csA = 1, mr
		b.a = w.panels[(q-q0)*w.tall*w.kc:]
	default:
		b.rsA, b.csA = w.rsA, w.csA
		b.a = w.a[b.i*w.rsA+w.l*w.csA:]
	}
	if b.rows > mr {
		if w.packA {
			b.a2 = b.a[mr*w.kc:]
		} else {
			b.a2 = b.a[mr*b.rsA:]
		}
	}
	if w.flags&flagBias != 0 {
		b.bias = w.bias[b.i:][:b.rows]
	}
	return b
}

// multiply multiplies blocks q0 to q1 of rows with columns jc to je.
func (w *worker[T]) multiply(q0, q1, jc, je int) {
	w.prepare(q0, q1)
	for j := jc; j < je; {
		left := je - j
		pair := w.wide && left > nr && (!w.inPlace || left >= 2*nr)
		s, s2 := &w.strip[0], &w.strip[1]
		w.aim(s, j, jc, je)
		if pair {
			w.aim(s2, j+nr, jc, je)
		}
		q := q0
		if w.onTheWay && q0 == 0 && left >= w.unit {
			b, b2 := w.direct[w.l*w.ldb+j:], w.direct[w.l*w.ldb+j+w.unit-nr:]
			w.cross(w.block(q, q0), pair, b, b2, w.ldb, w.strips[(j-jc)*w.kc:])
			q++
		}
		for ; q < q1; q++ {
			w.cross(w.block(q, q0), pair, s.b, s2.b, s.rsB, nil)
		}
		j += nr
		if pair {
			j += nr
		}
	}
}

// cross multiplies a block of rows with the strip or the two at hand, whose rows of B are given;
// to is where to copy them, or nil.
func (w *worker[T]) cross(r block[T], pair bool, b, b2 []T, rsB int, to []T) {
	s, s2 := &w.strip[0], &w.strip[1]
	c, ldc := w.target(s, r.i, r.rows)
	switch {
	case pair:
		c2, ldc2 := w.target(s2, r.i, r.rows)
		microWide(r.rows, w.kc, r.a, r.a2, r.rsA, r.csA, b, b2, rsB, c, ldc, c2, ldc2, w.flags, r.bias, to)
		w.scatter(s2, r.i, r.rows)
	case to != nil:
		microPacking(r.rows, w.kc, r.a, r.rsA, r.csA, b, rsB, c, ldc, w.flags, r.bias, to)
	default:
		micro(r.rows, w.kc, r.a, r.a2, r.rsA, r.csA, b, rsB, c, ldc, w.flags, r.bias)
	}
	w.scatter(s, r.i, r.rows)
}

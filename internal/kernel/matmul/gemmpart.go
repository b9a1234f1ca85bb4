package matmul

import (
	"sync"

	"github.com/graft-ml/graft/internal/kernel"
)

// part computes rows i0 to i1 and columns j0 to j1, of the inner dimension l0 to l1;
// j0 is a multiple of nr.
func (x *Product[T]) part(i0, i1, j0, j1, l0, l1 int) {
	w := borrowWorker[T]()
	defer giveBackWorker(w)
	w.Product, w.i0, w.i1, w.wide, w.tall = x, i0, i1, kernel.AVX512 && kernel.IsFloat32[T](), MR
	if w.wide && i1-i0 > MR {
		w.tall = 2 * MR
	}
	w.blocks = kernel.CeilDiv(i1-i0, w.tall)
	w.packA = x.Left == nil && (x.Alpha != 1 || j1-j0 >= 192 && x.crowded(w.wide))
	w.inTurn = w.packA && kernel.SIMD && kernel.IsFloat32[T]() && x.RsA == 1 && x.CsA > 1 && x.Alpha == 1 && x.M >= w.tall
	w.inPlace = x.direct != nil && (w.blocks == 1 || i1-i0 <= 2*MR)
	w.onTheWay = x.direct != nil && !w.inPlace && kernel.SIMD && kernel.IsFloat32[T]()
	w.unit = NR
	if w.wide {
		w.unit = 2 * NR
	}
	kc := depth(l1 - l0)
	nc, blocks := min(ncMax, j1-j0), min(mcMax/w.tall, w.blocks)
	if w.wide { // the L2 cache of such a processor holds most of B, and a row of blocks for each shard
		nc = min(nc, max(4*2*NR, cachedWide/kc/(2*NR)*2*NR))
	}
	nc = kernel.CeilDiv(kernel.CeilDiv(j1-j0, kernel.CeilDiv(j1-j0, nc)), w.unit) * w.unit // shards of equal width
	colPanels, panels := kernel.CeilDiv(nc, NR)*NR*kc, blocks*w.tall*(kc+16)
	if x.Packed != nil {
		colPanels = 0
	}
	const tiles = 2 * 2 * MR * NR
	buffer := kernel.Borrow[T](tiles + colPanels + panels)
	defer kernel.GiveBack(buffer)
	for i := range w.colPanel {
		w.colPanel[i].tile = (*buffer)[i*tiles/2:][:tiles/2]
	}
	w.colPanels = (*buffer)[tiles:][:colPanels]
	w.panels = (*buffer)[tiles+colPanels:][:panels]
	for jc := j0; jc < j1; jc += nc {
		je := min(jc+nc, j1)
		if x.Beta != 0 && x.Beta != 1 {
			scaleRows(x.pool, i1-i0, je-jc, x.Beta, x.C[i0*x.LDC+jc:], x.LDC)
		}
		for l := l0; l < l1; l += kc {
			w.l, w.kc = l, min(kc, l1-l)
			w.last = l+w.kc == l1
			w.flags = x.flags(l > l0 || x.Beta != 0, w.last)
			w.packPanels(jc, je)
			for q := 0; q < w.blocks; q += blocks {
				x.pool.Check()
				w.multiply(q, min(q+blocks, w.blocks), jc, je)
			}
		}
	}
}

// crowded reports whether the row stride of A is so large that packed rows stay in the L1 cache better,
// because many rows may map to a few of its sets. It matters less on processors with wide registers,
// unless all rows start in the same set.
func (x *Product[T]) crowded(wide bool) bool {
	const near, samePlace = 512, 1024 // row strides in elements
	switch {
	case x.CsA != 1:
		return !wide || x.CsA > near
	case wide:
		return x.RsA%samePlace == 0
	}
	return x.RsA > near
}

// depth returns the length of the shards into which an inner dimension k is split.
func depth(k int) int {
	kc := kernel.CeilDiv(k, kernel.CeilDiv(k, kcMax))
	if kc < k {
		kc = kernel.CeilDiv(kc, 8) * 8
	}
	return kc
}

// flags returns the micro-kernel's flags for a shard of the inner dimension.
func (x *Product[T]) flags(add, last bool) (flags int) {
	if add {
		flags |= FlagAdd
	}
	if last && x.Bias != nil {
		flags |= flagBias
	}
	if last && x.shift != nil {
		flags |= flagShift
	}
	if last && x.Relu {
		flags |= flagRelu
	}
	return flags
}

// worker is the state of one part. Its rows are divided into blocks of nearly equal size, of at most
// tall rows, because a short last block would leave registers unused.
type worker[T kernel.Float] struct {
	*Product[T]
	i0, i1, tall, blocks int
	wide                 bool // blocks of up to 2*mr rows and two column panels
	packA, inTurn        bool // A is packed; the blocks are packed one after the other to one panel
	inPlace              bool
	onTheWay             bool // the first block packs B as it reads it, unit columns at a time
	unit                 int
	colPanels, panels    []T
	l, kc, flags         int
	last                 bool                 // of the shards of the inner dimension
	list                 [mcMax / MR]block[T] // the rows being multiplied
	colPanel             [2]colPanel[T]
}

// Workers are kept between products, like buffers, to avoid allocations in small products.
var workers32, workers64 sync.Pool // of *worker[T], all zero

func workers[T kernel.Float]() *sync.Pool {
	if kernel.IsFloat32[T]() {
		return &workers32
	}
	return &workers64
}

func borrowWorker[T kernel.Float]() *worker[T] {
	if w, ok := workers[T]().Get().(*worker[T]); ok {
		return w
	}
	return new(worker[T])
}

func giveBackWorker[T kernel.Float](w *worker[T]) {
	*w = worker[T]{}
	workers[T]().Put(w)
}

// row returns the first row of block q.
func (w *worker[T]) row(q int) int { return w.i0 + q*(w.i1-w.i0)/w.blocks }

// packPanels packs columns jc to je of the current rows of B: all of them or, where others read B
// in place, an incomplete last column panel.
func (w *worker[T]) packPanels(jc, je int) {
	from := jc
	if w.Packed != nil {
		return
	}
	switch {
	case w.inPlace:
		from += (je - jc) / NR * NR
	case w.onTheWay:
		from += (je - jc) / w.unit * w.unit
	}
	if from < je {
		w.B.Pack(w.l, w.kc, from, je, w.colPanels[(from-jc)*w.kc:])
	}
}

// multiply multiplies blocks q0 to q1 of rows by columns jc to je. If the rows of B fit into the L2
// cache, each block of rows is multiplied by all columns in turn, so that C is written in the order of
// memory. Otherwise each column panel is multiplied by as many rows as the cache holds.
func (w *worker[T]) multiply(q0, q1, jc, je int) {
	list, packs := w.prepare(q0, q1), w.onTheWay && q0 == 0
	limit := cachedColumns
	if w.wide {
		limit = cachedWide
	}
	few := (q1-q0)*w.tall*w.kc <= nearRows && !packs // if so, the column panels are read only once
	if w.kc*(je-jc) <= limit && !few {
		for i := range list {
			for j := jc; j < je; {
				width := w.aimAt(j, jc, je)
				w.cross(&list[i], width, j, jc, je, packs && i == 0)
				j += width
			}
			w.finish(list[i:i+1], jc, je)
		}
		return
	}
	for j := jc; j < je; {
		width := w.aimAt(j, jc, je)
		for i := range list {
			w.cross(&list[i], width, j, jc, je, packs && i == 0)
		}
		j += width
	}
	w.finish(list, jc, je)
}

// finish applies the parts of the epilogue that micro-kernels cannot: to columns jc to je of the rows of
// list, which are complete after the last shard of the inner dimension.
func (w *worker[T]) finish(list []block[T], jc, je int) {
	if w.last && w.end != nil {
		end := &list[len(list)-1]
		finishColumns(w.end, w.C, w.LDC, list[0].i, end.i+end.rows, jc, je)
	}
}

// Number of elements of B that fit into the L2 cache, which is twice as large on processors with wide
// registers.
const (
	cachedColumns = 3 << 15
	cachedWide    = 1 << 17
)

// nearRows is the number of elements of A that fit into the L1 cache together with a column panel.
const nearRows = 1 << 12

// aimAt sets one or two column panels to the columns from j on, and returns the number of columns.
func (w *worker[T]) aimAt(j, jc, je int) (width int) {
	w.aim(&w.colPanel[0], j, jc, je)
	if left := je - j; !w.wide || left <= NR || w.inPlace && left < 2*NR {
		return NR
	}
	w.aim(&w.colPanel[1], j+NR, jc, je)
	return 2 * NR
}

// cross multiplies a block of rows by the packed column panels from column j on. With packs it also packs
// B.
func (w *worker[T]) cross(r *block[T], width, j, jc, je int, packs bool) {
	s, s2 := &w.colPanel[0], &w.colPanel[1]
	b, b2, rsB := s.b, s2.b, s.rsB
	bias := r.bias
	if w.flags&flagShift != 0 {
		bias = w.shift[j:]
	}
	var to []T
	if packs && je-j >= w.unit {
		b, b2, rsB = w.direct[w.l*w.ldb+j:], w.direct[w.l*w.ldb+j+w.unit-NR:], w.ldb
		to = w.colPanels[(j-jc)*w.kc:]
	}
	c, ldc := w.target(s, r.i, r.rows)
	switch {
	case width > NR:
		c2, ldc2 := w.target(s2, r.i, r.rows)
		microWide(r.rows, w.kc, r.a, r.a2, r.rsA, r.csA, b, b2, rsB, c, ldc, c2, ldc2, w.flags, bias, to)
		w.scatter(s2, r.i, r.rows)
	case to != nil:
		microPacking(r.rows, w.kc, r.a, r.rsA, r.csA, b, rsB, c, ldc, w.flags, bias, to)
	default:
		Micro(r.rows, w.kc, r.a, r.a2, r.rsA, r.csA, b, rsB, c, ldc, w.flags, bias)
	}
	w.scatter(s, r.i, r.rows)
}

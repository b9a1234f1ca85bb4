package matmul

import "github.com/graft-ml/graft/internal/kernel"

// columns is a matrix in row-major order as the right operand of a product.
type columns[T kernel.Float] struct {
	b   []T
	ldb int
}

func (s *columns[T]) Pack(l, kc, j, je int, dst []T) {
	whole := (je - j) / NR
	if whole > 0 {
		packRows(kc, s.b[l*s.ldb+j:], s.ldb, whole, dst)
	}
	j += whole * NR
	if j == je {
		return
	}
	src, dst := s.b[l*s.ldb+j:], dst[whole*NR*kc:]
	for r := range kc {
		d := dst[r*NR:][:NR]
		clear(d[copy(d, src[r*s.ldb:][:je-j]):])
	}
}

// packRows copies kc rows with stride ldb to the given number of column panels of NR columns.
func packRows[T kernel.Float](kc int, src []T, ldb, colPanels int, dst []T) {
	_ = src[(kc-1)*ldb+colPanels*NR-1]
	_ = dst[colPanels*kc*NR-1]
	if kernel.IsFloat32[T]() && kernel.Has(kernel.BlockGroup) {
		packB16(kc, &kernel.Float32s(src)[0], ldb*4, &kernel.Float32s(dst)[0], colPanels, kc*NR*4)
		return
	}
	for r := range kc {
		for s := range colPanels {
			copy(dst[(s*kc+r)*NR:][:NR], src[r*ldb+s*NR:])
		}
	}
}

// columnsT is the transpose of a row-major matrix: column j is row j of b.
type columnsT[T kernel.Float] struct {
	b   []T
	ldb int
}

func (s *columnsT[T]) Pack(l, kc, j, je int, dst []T) {
	for ; j < je; j += NR {
		PackTransposed(kc, s.b[j*s.ldb+l:], s.ldb, min(NR, je-j), dst)
		dst = dst[kc*NR:]
	}
}

// stackedT are the transposes of two matrices on top of each other.
type stackedT[T kernel.Float] struct{ above, below columnsT[T] }

func (s *stackedT[T]) Pack(l, kc, j, je int, dst []T) {
	first := min(kc, max(0, s.above.ldb-l)) // of the rows, those of above
	for ; j < je; j += NR {
		cols := min(NR, je-j)
		if first > 0 {
			PackTransposed(first, s.above.b[j*s.above.ldb+l:], s.above.ldb, cols, dst)
		}
		if first < kc {
			from := l + first - s.above.ldb
			PackTransposed(kc-first, s.below.b[j*s.below.ldb+from:], s.below.ldb, cols, dst[first*NR:])
		}
		dst = dst[kc*NR:]
	}
}

// PackTransposed transposes up to nr rows of src, of length kc and stride ldb, to the columns of a column panel.
func PackTransposed[T kernel.Float](kc int, src []T, ldb, cols int, dst []T) {
	_ = src[(cols-1)*ldb+kc-1]
	dst = dst[:kc*NR]
	done, k8 := 0, kc/8
	if kernel.IsFloat32[T]() && kernel.Has(kernel.BlockGroup) && k8 > 0 {
		s, d := kernel.Float32s(src), kernel.Float32s(dst)
		for ; done+8 <= cols; done += 8 {
			packT8(k8, &s[done*ldb], ldb*4, &d[done])
		}
	}
	for q := range NR {
		first := 0
		if q < done {
			first = k8 * 8
		}
		if q >= cols {
			for r := 0; r < kc; r++ {
				dst[r*NR+q] = 0
			}
			continue
		}
		row := src[q*ldb:][:kc]
		for r := first; r < kc; r++ {
			dst[r*NR+q] = row[r]
		}
	}
}

// packPanel packs rows i to i+rows of the current columns of A, times alpha, as a
// panel: mr elements for each column, of which those beyond rows are arbitrary.
func (w *worker[T]) packPanel(i, rows int, dst []T) {
	a := w.A[i*w.RsA+w.l*w.CsA:]
	if i+MR <= w.M {
		rows = MR // there is a faster kernel for whole panels
	}
	packLeft(rows, w.kc, a, w.RsA, w.CsA, dst)
	if w.Alpha != 1 {
		for q := range dst {
			dst[q] *= w.Alpha
		}
	}
}

// packTransposed packs blocks q0 to q1 of a transposed left operand, tall rows per panel. The rows are
// contiguous, so that all blocks are packed column by column.
func (w *worker[T]) packTransposed(q0, q1 int) {
	var first [mcMax / MR]int
	for q := q0; q < q1; q++ {
		first[q-q0] = w.panelRow(w.row(q))
	}
	a, dst, size := kernel.Float32s(w.A[w.l*w.CsA:]), kernel.Float32s(w.panels), w.tall*w.kc
	_, _ = a[(w.kc-1)*w.CsA+first[q1-1-q0]+w.tall-1], dst[(q1-q0)*size-1]
	pack := packA6Blocks
	if w.tall > MR {
		pack = packA12Blocks
	}
	pack(w.kc, &a[0], w.CsA*4, &first[0], q1-q0, &dst[0], size*4)
}

// panelRow returns the first row of the panel of the block that starts at row i, with tall rows per panel.
func (w *worker[T]) panelRow(i int) int { return min(i, w.M-w.tall) }

// inPanel returns the offset in panel q of row i, the first of its block.
func (w *worker[T]) inPanel(q, i int) []T {
	size := w.tall * w.kc
	return w.panels[q*size:][:size][i-w.panelRow(i):]
}

func packLeft[T kernel.Float](rows, kc int, a []T, rsA, csA int, dst []T) {
	_ = a[(rows-1)*rsA+(kc-1)*csA]
	dst = dst[:MR*kc]
	done := 0
	if kernel.IsFloat32[T]() && kernel.Has(kernel.BlockGroup) && rows == MR {
		s, d := kernel.Float32s(a), kernel.Float32s(dst)
		switch {
		case csA == 1 && kc >= 8:
			packA6(kc/8, &s[0], rsA*4, &d[0])
			done = kc &^ 7
		case rsA == 1:
			packA6T(kc, &s[0], csA*4, &d[0])
			return
		}
	}
	for r := range rows {
		src := a[r*rsA:]
		for q := done; q < kc; q++ {
			dst[q*MR+r] = src[q*csA]
		}
	}
}

package std

import (
	"slices"

	"github.com/graft-ml/graft/internal/kernel"
	"github.com/graft-ml/graft/internal/kernel/elementwise"
)

// maxMapped is the length of an axis for which a table of indices is made.
const maxMapped = 1 << 27

// mapped is a tensor each of whose axes shows chosen indices of another one's: index o of axis k
// shows sources[k][o], -1 is nothing.
type mapped struct {
	from    []int // strides of the other tensor
	sources [][]int
}

// rows calls f for each row of the result in [lo, hi) with where in the source it begins, -1 if nowhere.
func (m mapped) rows(lo, hi int, f func(row, at int)) {
	last := len(m.sources) - 1
	if last == 0 {
		for row := lo; row < hi; row++ {
			f(row, 0)
		}
		return
	}
	group := m.sources[last-1]
	for row := lo; row < hi; {
		above, first := m.above(row/len(group)), row%len(group)
		for _, s := range group[first:min(len(group), first+hi-row)] {
			at := -1
			if s >= 0 && above >= 0 {
				at = above + s*m.from[last-1]
			}
			f(row, at)
			row++
		}
	}
}

// inverse returns, for each element of the other tensor, of a given shape, the position where m shows it;
// ok is false if m shows an element more than once.
func (m mapped) inverse(p *kernel.Pool, shape []int) (back mapped, ok bool) {
	var to []int
	for k, index := range m.sources {
		shown := make([]int, shape[k])
		for i := range shown {
			shown[i] = -1
		}
		for o, i := range index {
			checkAt(p, o)
			if i < 0 {
				continue
			}
			if shown[i] >= 0 {
				return mapped{}, false
			}
			shown[i] = o
		}
		to, back.sources = append(to, len(index)), append(back.sources, shown)
	}
	back.from = rowStrides(to)
	return back, true
}

// above is where in the source the group of rows with a number begins, those that differ in the last but one axis
// only; -1 if nowhere.
func (m mapped) above(group int) int {
	at := 0
	for k := len(m.sources) - 3; k >= 0; k-- {
		n := len(m.sources[k])
		s := m.sources[k][group%n]
		if group /= n; s < 0 {
			return -1
		}
		at += s * m.from[k]
	}
	return at
}

// count returns the number of rows of the result, and their length.
func (m mapped) count() (rows, row int) {
	rows, row = 1, 1
	for k, s := range m.sources {
		if k < len(m.sources)-1 {
			rows *= len(s)
		} else {
			row = len(s)
		}
	}
	return rows, row
}

// readMapped fills dst, in the shape that m describes, from src; elements without a source are set to fill.
func readMapped[E any](p *kernel.Pool, m mapped, dst, src []E, fill E) {
	if len(m.sources) == 0 {
		copy(dst, src)
		return
	}
	rows, n := m.count()
	index := m.sources[len(m.sources)-1]
	from, to, inside, framed := 0, 0, false, false // not asked of a long row
	if n <= kernel.LongRow {
		from, to = longestRun(p, index)
		inside = to-from < 8 && !slices.ContainsFunc(index, func(k int) bool { return k < 0 })
		framed = !slices.ContainsFunc(index[:from], picked) && !slices.ContainsFunc(index[to:], picked)
	}
	p.Range(rows, max(1, 8192/max(n, 1)), func(lo, hi int) {
		last := 0 // source of the previous row
		m.rows(lo, hi, func(row, at int) {
			d := dst[row*n : (row+1)*n]
			switch {
			case n > kernel.LongRow:
				p.InParts(n, func(lo, hi int) {
					for i, k := range index[lo:hi] {
						if at < 0 {
							k = -1
						}
						d[lo+i] = pick(src, max(at, 0), k, fill)
					}
				})
			case row > lo && at == last:
				copy(d, dst[(row-1)*n:])
			case at >= 0 && framed:
				for i := range d[:from] {
					d[i] = fill
				}
				if from < to {
					copy(d[from:to], src[at+index[from]:])
				}
				for i := range d[to:] {
					d[to+i] = fill
				}
			case at >= 0 && inside:
				s := src[at:]
				for i, k := range index {
					d[i] = s[k]
				}
			case at >= 0:
				for i, k := range index[:from] {
					d[i] = pick(src, at, k, fill)
				}
				if from < to {
					copy(d[from:to], src[at+index[from]:])
				}
				for i, k := range index[to:] {
					d[to+i] = pick(src, at, k, fill)
				}
			default:
				for i := range d {
					d[i] = fill
				}
			}
			last = at
		})
	})
}

// picked reports whether an index shows an element.
func picked(k int) bool { return k >= 0 }

// pick is src[at+k], or fill where k is negative.
func pick[E any](src []E, at, k int, fill E) E {
	if k < 0 {
		return fill
	}
	return src[at+k]
}

// longestRun is where in index numbers follow one another.
func longestRun(p *kernel.Pool, index []int) (from, to int) {
	pace := p.Pace()
	for lo := 0; lo < len(index); {
		hi := lo + 1
		for hi < len(index) && index[lo] >= 0 && index[hi] == index[hi-1]+1 {
			hi++
			pace.Did(1)
		}
		if pace.Did(1); hi-lo > to-from && index[lo] >= 0 {
			from, to = lo, hi
		}
		lo = hi
	}
	return from, to
}

// addMapped adds src, in the shape of the result, to the sources of its elements.
func addMapped[T kernel.Float](p *kernel.Pool, m mapped, dst, src []T) {
	if len(m.sources) == 0 {
		dst[0] += src[0]
		return
	}
	rows, n := m.count()
	index := m.sources[len(m.sources)-1]
	from, to := longestRun(p, index)
	m.rows(0, rows, func(row, at int) {
		if at < 0 {
			return
		}
		s := src[row*n : (row+1)*n]
		add := func(lo, hi int) {
			checkAt(p, row*min(n, checkEvery))
			for i, k := range index[lo:hi] {
				checkAt(p, i+1)
				if k >= 0 {
					dst[at+k] += s[lo+i]
				}
			}
		}
		add(0, from)
		if from < to {
			d := dst[at+index[from]:][:to-from]
			elementwise.Add(nil, d, d, s[from:to])
		}
		add(to, n)
	})
}

package std

import (
	"slices"

	"github.com/graft-ml/graft/internal/kernel"
	"github.com/graft-ml/graft/nn/op"
)

// maxWalk limits the number of runs of dimensions; a tensor reaches it only with that many dimensions
// that are alternately broadcast and not.
const maxWalk = 12

// walk visits the elements of broadcast operands in rows: runs of the output along which each
// operand either advances element by element or remains at one element.
type walk struct {
	rows, inner int
	moves       []bool  // per operand: it advances along a row
	sizes       []int   // of the outer loops, outermost first
	strides     [][]int // per operand: elements per step of each outer loop
}

// newWalk plans a walk over operands of the given shapes, which broadcast to shape out.
func newWalk(c *op.Call, out []int, in ...[]int) (*walk, error) {
	type run struct {
		n     int
		still []bool
	}
	var runs []run
	for a, n := range out {
		if n == 1 {
			continue
		}
		still := make([]bool, len(in))
		for k, s := range in {
			b := a - len(out) + len(s)
			still[k] = b < 0 || s[b] == 1
		}
		if l := len(runs) - 1; l >= 0 && slices.Equal(runs[l].still, still) {
			runs[l].n *= n
			continue
		}
		runs = append(runs, run{n, still})
	}
	w := &walk{rows: 1, inner: 1, moves: make([]bool, len(in)), strides: make([][]int, len(in))}
	for k := range w.moves {
		w.moves[k] = true
	}
	if len(runs) == 0 {
		return w, nil
	}
	if len(runs) > maxWalk {
		return nil, c.Errorf("broadcasting %v to %v takes too many nested loops", in, out)
	}
	last := len(runs) - 1
	w.inner = runs[last].n
	for k := range in {
		step := 1
		if w.moves[k] = !runs[last].still[k]; w.moves[k] {
			step = w.inner
		}
		w.strides[k] = make([]int, last)
		for r := last - 1; r >= 0; r-- {
			if !runs[r].still[k] {
				w.strides[k][r] = step
				step *= runs[r].n
			}
		}
	}
	for _, r := range runs[:last] {
		w.sizes = append(w.sizes, r.n)
		w.rows *= r.n
	}
	return w, nil
}

// column reports whether operand k has one number for each row, in order, and all others advance along the rows.
func (w *walk) column(k int) bool {
	for i, moves := range w.moves {
		if moves == (i == k) || len(w.sizes) != 1 || w.strides[i][0] == 0 {
			return false
		}
	}
	return w.strides[k][0] == 1
}

// each calls f for blocks of rows, on the workers of p: n output elements from position at, and the
// offsets of the operands. cost is the approximate number of simple operations per element.
func (w *walk) each(p *kernel.Pool, cost int, f func(at, n int, off [3]int)) {
	grain := max(1, (1<<14)/max(cost, 1))
	if w.rows == 1 {
		p.Range(w.inner, grain, func(lo, hi int) {
			var off [3]int
			for k, m := range w.moves {
				if m {
					off[k] = lo
				}
			}
			f(lo, hi-lo, off)
		})
		return
	}
	p.Range(w.rows, max(1, grain/max(w.inner, 1)), func(lo, hi int) { w.some(lo, hi, f) })
}

// some visits the rows from lo to hi.
func (w *walk) some(lo, hi int, f func(at, n int, off [3]int)) {
	var index [maxWalk]int
	var off [3]int
	left := lo
	for a := len(w.sizes) - 1; a >= 0; a-- {
		index[a] = left % w.sizes[a]
		left /= w.sizes[a]
		for k := range w.strides {
			off[k] += index[a] * w.strides[k][a]
		}
	}
	for r := lo; r < hi; r++ {
		f(r*w.inner, w.inner, off)
		for a := len(w.sizes) - 1; a >= 0; a-- {
			index[a]++
			for k := range w.strides {
				off[k] += w.strides[k][a]
			}
			if index[a] < w.sizes[a] {
				break
			}
			for k := range w.strides {
				off[k] -= index[a] * w.strides[k][a]
			}
			index[a] = 0
		}
	}
}

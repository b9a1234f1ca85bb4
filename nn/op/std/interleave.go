package std

import "github.com/graft-ml/graft/internal/kernel"

// interleaved is a tensor whose rows of bytes consist of one row of each of several parts, with the given numbers
// of bytes: the result of Concat, and the input of Split.
type interleaved struct {
	rows  int
	parts []int
	row   int // bytes of all parts
}

func newInterleaved(rows int, parts []int) interleaved {
	s := interleaved{rows: rows, parts: parts}
	for _, n := range parts {
		s.row += n
	}
	return s
}

// copyGrain is the smallest number of bytes per thread.
const copyGrain = 1 << 17

// each calls move for blocks that make up the whole tensor: n bytes of a part, with their offsets in the part and
// in the whole.
func (s interleaved) each(p *kernel.Pool, move func(part, at, whole, n int)) {
	p.Range(s.rows*s.row, copyGrain, func(lo, hi int) {
		pace := p.Pace() // parts may be small
		for lo < hi {
			row, in := lo/s.row, lo%s.row
			for part, size := range s.parts {
				if in >= size {
					in -= size
					continue
				}
				n := min(size-in, hi-lo)
				if pace.Did(16 + n/64); n > 0 {
					move(part, row*size+in, lo, n)
				}
				lo, in = lo+n, 0
			}
		}
	})
}

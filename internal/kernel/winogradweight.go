package kernel

import "sync/atomic"

// winogradGradient is the gradient by weights of a 3×3 convolution with stride 1: for each point the
// product, over tiles, of transformed gradients of outputs with transformed inputs.
type winogradGradient[T Float] struct {
	*winogradTile
	x, dy winogradPlanes[T] // cut into the same tiles
	n     int               // images
	dw    []T
	bad   atomic.Bool
}

const (
	winogradTiles = 1 << 20 // elements of transformed tiles, of x and dy together, that are kept at once
	winogradRows  = 24      // output channels whose products are kept at once, where they are not all
	winogradKeep  = 1 << 20 // elements of products that are all kept
)

// run computes dw and tells whether all of it is finite; where it is not, it may have NaN in place of
// an infinity.
func (w *winogradGradient[T]) run(p *Pool, scratch Scratch[T]) bool {
	threads := p.Threads()
	c, oc := w.x.channels, w.dy.channels
	rows := w.n * w.x.rows
	products := w.points() * oc * roundLanes(c)
	per := max(1, winogradTiles/(w.points()*w.x.cols*(roundLanes(c)+roundLanes(oc))))
	if products > winogradKeep && w.n*w.x.rows*w.x.cols < c {
		per = rows
	}
	blocks := cdiv(rows, per)
	per = cdiv(rows, blocks)

	v, d := newGrid[T](w.winogradTile, per*w.x.cols, c), newGrid[T](w.winogradTile, per*w.x.cols, oc)
	v.v, d.v = take(scratch, v.size(w.winogradTile)), take(scratch, d.size(w.winogradTile))
	kept := oc
	if blocks == 1 && products > winogradKeep {
		kept = winogradRows
	}
	m := newGrid[T](w.winogradTile, kept, c)
	size := 0
	for _, s := range []*winogradPlanes[T]{&w.x, &w.dy} {
		band, _ := s.band(w.winogradTile, min(per, s.rows))
		size = max(size, band)
	}
	if kept < oc {
		size = max(size, m.size(w.winogradTile))
	} else {
		m.v = take(scratch, m.size(w.winogradTile))
	}
	size = cdiv(size, winogradLanes) * winogradLanes
	rooms := take(scratch, threads*size)
	for i := range blocks {
		lo, hi := i*rows/blocks, (i+1)*rows/blocks
		w.transform(p, lo, hi, v, d, rooms, size)
		if kept < oc {
			p.Run(cdiv(oc, kept), func(worker, i int) {
				m := m
				m.v = rooms[worker*size:][:size]
				n := min(kept, oc-i*kept)
				for q := range w.points() {
					w.multiply(q, i*kept, n, (hi-lo)*w.x.cols, v, d, m, 0)
				}
				w.store(i*kept, n, m.v, m)
			})
			return !w.bad.Load()
		}
		flags := 0
		if i > 0 {
			flags = flagAdd
		}
		p.Run(w.points(), func(_, q int) { w.multiply(q, 0, oc, (hi-lo)*w.x.cols, v, d, m, flags) })
	}
	p.Range(oc, max(1, 256/c), func(lo, hi int) { w.store(lo, hi-lo, m.v[lo*m.step:], m) })
	return !w.bad.Load()
}

// transform sets v and d from the tile rows lo to hi.
func (w *winogradGradient[T]) transform(p *Pool, lo, hi int, v, d grid[T], rooms []T, size int) {
	groups := cdiv(w.x.channels, winogradLanes)
	p.Run(groups+cdiv(w.dy.channels, winogradLanes), func(worker, i int) {
		room := rooms[worker*size:][:size]
		if i < groups {
			w.x.transform(w.winogradTile, lo, hi, i, i+1, v, room)
		} else {
			w.dy.transform(w.winogradTile, lo, hi, i-groups, i-groups+1, d, room)
		}
	})
}

// multiply sets point q of n rows of m to the sum over tiles for the output channels from o on.
func (w *winogradGradient[T]) multiply(q, o, n, tiles int, v, d, m grid[T], flags int) {
	for c := 0; c < w.x.channels; c += winogradPair {
		strips := min(2, cdiv(w.x.channels-c, winogradLanes))
		right := v.v[q*v.point+c:]
		points(strips, n, tiles, d.v[q*d.point+o:], 1, d.step, right, right[(strips-1)*winogradLanes:], v.step, m.v[q*m.point+c:], m.step, flags)
	}
}

// store sets the weights of n output channels from o on, whose products begin at src.
func (w *winogradGradient[T]) store(o, n int, src []T, m grid[T]) {
	var bad finite[T]
	c := w.x.channels
	for i := range n {
		gradients(w.winogradTile, c, src[i*m.step:], m.point, w.dw[(o+i)*c*9:][:c*9], &bad)
	}
	if !bad.ok() {
		w.bad.Store(true)
	}
}
